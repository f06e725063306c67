// The additional guarantees of the device for persistent memory: no sync makes a system call, and
// neither a full file system nor a truncated file ends in a signal. device_test.cc covers all
// devices; real_sync_test.cc checks that it syncs like any other where memory is not persistent.
#include "base/io/pmem_device.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/open_device.h"
#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/log_recorder.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::io {
namespace {

constexpr int kNotAllowed = 90;
constexpr std::size_t kBlock = 4096;

class PmemDeviceTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool is_persistent() const { return device_.is_persistent(); }

  test::TemporaryDirectory directory_{test::memory_file_system()};
  PmemDevice device_{directory_.path(), false};
};

TEST_F(PmemDeviceTest, ALogThereIsMappedAndOneLineSaysSo) {
  if (!is_persistent()) {
    GTEST_SKIP() << "no persistent memory; PMEM_IS_PMEM_FORCE=1 makes a tmpfs count";
  }
  const test::LogRecorder recorder;
  DeviceOptions options;
  options.create = true;
  options.log = recorder.function();
  const std::string path = directory_.path("new");
  const auto device = open_log_device(path, options);
  EXPECT_EQ(device->description(), "persistent memory, mapped");
  ASSERT_EQ(recorder.all().size(), 1U);
  EXPECT_EQ(recorder.all().front().message, "the log lies on persistent memory");
  EXPECT_EQ(recorder.all().front().level, LogLevel::info);
  EXPECT_EQ(recorder.all().front().field("path"), path);
  EXPECT_EQ(recorder.all().front().field("device"), "persistent memory, mapped");
  options.preference = DeviceOptions::Preference::posix;
  EXPECT_THAT(open_log_device(path, options)->description(), ::testing::StartsWith("posix, "));
  EXPECT_EQ(recorder.all().size(), 1U);
  EXPECT_TRUE(device_.list() == std::vector<std::string>{"new"}) << "trying leaves nothing behind";
}

TEST_F(PmemDeviceTest, SyncsAskTheSystemOnlyForSizes) {
  if (!is_persistent()) {
    GTEST_SKIP() << "no persistent memory; PMEM_IS_PMEM_FORCE=1 makes a tmpfs count";
  }
  EXPECT_EQ(test::run_in_child([&] {
              PmemDevice device(directory_.path(), false);  // a child has one of its own
              const auto file = device.open("a", OpenMode::create_new, true);
              file->allocate(0, 16 * kBlock);
              file->sync();
              if (!test::forbid_syncs(EIO)) {
                return kNotAllowed;
              }
              const AlignedMemory memory(2 * kBlock, kBlock);
              for (std::uint64_t at = 0; at < 16 * kBlock; at += 2 * kBlock) {
                file->write(at, memory.bytes());
                file->sync();
              }
              if (device.statistics().syncs != 9) {
                return 1;
              }
              file->write(16 * kBlock, memory.bytes());  // longer than before
              const auto code = test::error_of([&] {
                file->sync();
                return 0;
              });
              return code == ErrorCode::io_error && file->failed() ? 0 : 2;
            }),
            0)
      << "(90: no system-call filter)";
}

TEST_F(PmemDeviceTest, AFullFileSystemIsAnErrorAndNoSignal) {
  const std::string mounted = directory_.path("mounted");
  EXPECT_EQ(test::run_in_child([&] {
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mkdir(mounted.c_str(), 0700) != 0 ||
                  ::mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) {
                return kNotAllowed;
              }
              PmemDevice device(mounted, false);
              const AlignedMemory memory(64 * kBlock, kBlock);
              const auto file = device.open("a", OpenMode::create_new, true);
              file->allocate(0, 128 * kBlock);
              const auto fill = [&] {
                for (std::uint64_t at = 0; at < 1024 * kBlock; at += memory.size_bytes()) {
                  file->write(at, memory.bytes());
                }
                return 0;
              };
              if (test::error_of(fill) != ErrorCode::no_space || file->failed() ||
                  file->size_bytes() < 128 * kBlock || file->size_bytes() > 256 * kBlock) {
                return 1;
              }
              const auto allocate = [&](std::uint64_t bytes) {
                return test::error_of([&] {
                  file->allocate(0, bytes);
                  return 0;
                });
              };
              if (allocate(1024 * kBlock) != ErrorCode::no_space) {
                return 2;
              }
              file->write(64 * kBlock, memory.bytes());  // reserved blocks can be written
              file->sync();
              file->read(64 * kBlock, memory.bytes());
              // A file with holes: there is no space to fill them.
              std::ofstream(mounted + "/holes").close();
              std::filesystem::resize_file(mounted + "/holes", 512 * kBlock);
              const auto open = [&] { return device.open("holes", OpenMode::read_write, true); };
              if (test::error_of(open) != ErrorCode::no_space) {
                return 3;
              }
              file->truncate(kBlock);
              return allocate(128 * kBlock) ? 4 : 0;
            }),
            0)
      << "(90: this user may not mount)";
}

TEST_F(PmemDeviceTest, HolesAreFilledWhenAFileIsOpened) {
  const std::string path = directory_.path("holes");
  std::ofstream(path).close();
  std::filesystem::resize_file(path, 64 * kBlock);
  const auto file = device_.open("holes", OpenMode::read_write, true);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(64 * kBlock));
  EXPECT_GE(status.st_blocks * 512, static_cast<off_t>(64 * kBlock));
}

TEST_F(PmemDeviceTest, GrowthByAnotherOpenIsSeen) {
  const auto file = device_.open("a", OpenMode::create_new, false);
  const auto other = device_.open("a", OpenMode::read_write, false);
  const AlignedMemory written(kBlock, kBlock);
  std::ranges::fill(written.bytes(), std::byte{7});
  other->write(kBlock, written.bytes());
  const AlignedMemory read(kBlock, kBlock);
  file->read(kBlock, read.bytes());
  EXPECT_TRUE(std::ranges::equal(read.bytes(), written.bytes()));
  file->write(0, written.bytes());
  other->read(0, read.bytes());
  EXPECT_TRUE(std::ranges::equal(read.bytes(), written.bytes()));
}

// Readers beside a thread that truncates the file, grows it, and remaps it.
TEST_F(PmemDeviceTest, ReadsMeetTruncationAndGrowth) {
  const auto file = device_.open("a", OpenMode::create_new, true);
  const AlignedMemory written(kBlock, kBlock);
  std::ranges::fill(written.bytes(), std::byte{7});
  file->write(0, written.bytes());
  std::atomic<bool> enough{false};
  const auto read_on = [&] {
    const AlignedMemory read(4 * kBlock, kBlock);
    while (!enough) {
      for (const std::uint64_t block : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{100}}) {
        Transfer transfer{
            .kind = Transfer::Kind::read, .offset_bytes = block * kBlock, .data = read.bytes()};
        file->run({&transfer, 1});
        ASSERT_TRUE(transfer.error == 0 || transfer.error == kEndOfFile) << transfer.error;
        const std::byte expected = block == 0 ? std::byte{7} : std::byte{0};
        ASSERT_TRUE(transfer.error != 0 || read.data()[0] == expected) << block;
      }
    }
  };
  {
    const std::jthread first(read_on);
    const std::jthread second(read_on);
    for (std::uint64_t i = 0; i < 500; ++i) {
      file->truncate(kBlock);
      file->allocate(0, (2 + i % 128) * kBlock);
    }
    enough = true;
  }
}

}  // namespace
}  // namespace palimpsest::io
