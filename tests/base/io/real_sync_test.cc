// Each sync of a real device reaches the kernel. In a child process the kernel fails the expected
// call (seccomp), and the device has to report that: a device that does not make the call, or takes
// another way to the disk than the other tests cover, fails here.
//
// No variable of libpmem is set for this binary (pmem_device_test.cc has one), so nothing here
// counts as persistent memory unless it is.
#include <gtest/gtest.h>
#include <seccomp.h>

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/open_device.h"
#include "base/io/pmem_device.h"
#include "base/io/posix_device.h"
#include "base/io/uring_device.h"
#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::io {
namespace {

constexpr int kNoFilter = 90;
constexpr int kNotReached = 91;  ///< the sync succeeded: no forbidden call was made
constexpr int kOtherError = 92;
constexpr std::size_t kBlock = 4096;

class RealSyncTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "uring" && UringDevice::probe() != 0) {
      GTEST_SKIP() << "io_uring is not allowed here";
    }
    if (GetParam() == "pmem" && PmemDevice(directory_.path(), false).is_persistent()) {
      GTEST_SKIP() << "everything counts as persistent memory here";
    }
  }
  [[nodiscard]] std::unique_ptr<Device> make() const {
    if (GetParam() == "uring") {
      return std::make_unique<UringDevice>(directory_.path(), false, stderr_log_sink());
    }
    if (GetParam() == "posix") {
      return std::make_unique<PosixDevice>(directory_.path(), false);
    }
    return std::make_unique<PmemDevice>(directory_.path(), false);
  }

  test::TemporaryDirectory directory_;
};

int status_of(const std::function<void()>& sync) {
  const auto code = test::error_of([&] {
    sync();
    return 0;
  });
  if (!code) {
    return kNotReached;
  }
  return code == ErrorCode::io_error ? 0 : kOtherError;
}

// Overwritten bytes: only their data has to reach the disk.
TEST_P(RealSyncTest, WhatWasWrittenIsSynced) {
  EXPECT_EQ(
      test::run_in_child([&] {
        const auto device = make();
        const auto file = device->open("a", OpenMode::create_new, true);
        const AlignedMemory memory(kBlock, kBlock);
        file->allocate(0, kBlock);
        file->write(0, memory.bytes());
        file->sync();
        for (int i = 0; i < 3; ++i) {
          file->write(0, memory.bytes());
          file->sync();
        }
        if (!test::forbid_calls({SCMP_SYS(fdatasync), SCMP_SYS(fsync), SCMP_SYS(msync)}, EIO)) {
          return kNoFilter;
        }
        file->write(0, memory.bytes());
        const int status = status_of([&] { file->sync(); });
        return status != 0 || file->failed() ? status : kOtherError;
      }),
      0)
      << "(90: no system-call filter; 91: the kernel was not asked; 92: another error)";
}

// A file that has grown or was truncated: an fdatasync need not cover that.
TEST_P(RealSyncTest, SizesAndExtentsAreSyncedWhole) {
  for (const bool cuts : {false, true}) {
    EXPECT_EQ(test::run_in_child([&] {
                const auto device = make();
                const auto file = device->open(cuts ? "cut" : "grown", OpenMode::create_new, true);
                file->allocate(0, 4 * kBlock);
                file->sync();
                if (!test::forbid_calls({SCMP_SYS(fsync)}, EIO)) {
                  return kNoFilter;
                }
                if (cuts) {
                  file->truncate(kBlock);
                } else {
                  file->allocate(0, 8 * kBlock);
                }
                return status_of([&] { file->sync(); });
              }),
              0)
        << "(90: no system-call filter; 91: the kernel was not asked; 92: another error)";
  }
}

// Files that were made, renamed or removed.
TEST_P(RealSyncTest, TheDirectoryIsSynced) {
  EXPECT_EQ(test::run_in_child([&] {
              const auto device = make();
              static_cast<void>(device->open("a", OpenMode::create_new, true));
              if (!test::forbid_syncs(EIO)) {
                return kNoFilter;
              }
              device->rename("a", "b");
              return status_of([&] { device->sync_directory(); });
            }),
            0)
      << "(90: no system-call filter; 91: the kernel was not asked; 92: another error)";
}

INSTANTIATE_TEST_SUITE_P(Devices, RealSyncTest, ::testing::Values("posix", "uring", "pmem"),
                         [](const auto& device) { return device.param; });

// The parent of a new database directory: otherwise a crash may lose the directory.
TEST(RealDirectoryTest, TheParentOfANewDirectoryIsSynced) {
  const test::TemporaryDirectory parent;
  EXPECT_EQ(test::run_in_child([&] {
              if (!test::forbid_syncs(EIO)) {
                return kNoFilter;
              }
              return status_of(
                  [&] { static_cast<void>(open_device(parent.path("new"), {.create = true})); });
            }),
            0)
      << "(90: no system-call filter; 91: the kernel was not asked; 92: another error)";
}

}  // namespace
}  // namespace palimpsest::io
