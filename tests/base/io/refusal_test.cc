// Hosts that forbid io_uring or unbuffered I/O, simulated by system-call filters in a child
// process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/direct_io.h"
#include "base/io/open_device.h"
#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/log_recorder.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::io {
namespace {

using test::install_filter;

bool forbid_io_uring(scmp_filter_ctx filter, int error) {
  return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)),
                            SCMP_SYS(io_uring_setup), 0) == 0;
}

/// As on a file system without it, for both ways of requesting it.
bool forbid_direct(scmp_filter_ctx filter) {
  const scmp_arg_cmp flags{
      .arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = O_DIRECT, .datum_b = O_DIRECT};
  const scmp_arg_cmp command{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETFL, .datum_b = 0};
  return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(openat), 1, flags) == 0 &&
         ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(fcntl), 2, command, flags) ==
             0;
}

/// As on a file system that can only write.
bool forbid_reserving(scmp_filter_ctx filter) {
  return forbid_direct(filter) &&
         ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(fallocate), 0) == 0;
}

bool round_trip(Device& device) {
  constexpr std::size_t kBytes = std::size_t{10} * 4096;
  const auto file = device.open("pages", OpenMode::create_new, true);
  AlignedMemory memory(kBytes, 4096);
  AlignedMemory copy(kBytes, 4096);
  std::vector<Transfer> batch;
  for (std::size_t i = 0; i < 10; ++i) {
    std::memset(memory.data() + i * 4096, static_cast<int>(i + 1), 4096);
    batch.push_back({.kind = Transfer::Kind::write,
                     .offset_bytes = i * 8192,
                     .data = memory.bytes().subspan(i * 4096, 4096)});
  }
  file->run(batch);
  file->sync();
  for (std::size_t i = 0; i < 10; ++i) {
    batch[i].kind = Transfer::Kind::read;
    batch[i].data = copy.bytes().subspan(i * 4096, 4096);
  }
  file->run(batch);
  return std::memcmp(memory.data(), copy.data(), kBytes) == 0;
}

struct Opened {
  test::LogRecorder recorder;
  std::unique_ptr<Device> device;

  /// The only message; one that says nothing if there are more, or none.
  [[nodiscard]] test::RecordedMessage only() const {
    const auto all = recorder.all();
    return all.size() == 1 ? all.front() : test::RecordedMessage{};
  }
};

Opened open_here(const std::string& path) {
  Opened opened;
  DeviceOptions options;
  options.log = opened.recorder.function();
  opened.device = open_device(path, options);
  return opened;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

constexpr int kNoFilter = 90;

class RefusalTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
};

// A limit within a block, where space cannot be reserved.
TEST_F(RefusalTest, AFileThatMayNotGrowSaysSo) {
  for (const auto preference :
       {DeviceOptions::Preference::posix, DeviceOptions::Preference::automatic}) {
    EXPECT_EQ(test::run_in_child([&] {
                constexpr rlim_t kBytesMax = 100'100;
                const rlimit limit{.rlim_cur = kBytesMax, .rlim_max = kBytesMax};
                const auto device =
                    open_device(directory_.path("device"),
                                {.create = true, .preference = preference, .log = {}});
                if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
                    ::setrlimit(RLIMIT_FSIZE, &limit) != 0 || !install_filter(forbid_reserving)) {
                  return 1;
                }
                ::alarm(20);
                const auto file = device->open("a", OpenMode::create_new, false);
                const auto grow = [&] { return file->allocate(0, std::uint64_t{1} << 20U), 0; };
                const bool refused = test::error_of(grow) == ErrorCode::no_space;
                const bool as_before = file->size_bytes() == 0;
                device->remove("a");
                return refused && as_before ? 0 : 2;
              }),
              0);
  }
}

TEST_F(RefusalTest, ADirectoryThatFindsNoRoomSaysSo) {
  EXPECT_EQ(test::run_in_child([&] {
              if (!test::forbid_calls({SCMP_SYS(mkdir), SCMP_SYS(mkdirat)}, ENOSPC)) {
                return kNoFilter;
              }
              const std::string path = directory_.path("database");
              std::string message;
              const auto code =
                  test::error_of([&] { return open_device(path, {.create = true}); }, &message);
              const bool is_said =
                  message == "creation of \"" + path + "\" failed: No space left on device";
              return code == ErrorCode::no_space && is_said ? 0 : 1;
            }),
            0);
}

TEST_F(RefusalTest, WithoutIoUringPosixIsChosenWithOneLine) {
  for (const int error : {EPERM, ENOSYS}) {
    const test::TemporaryDirectory directory;
    EXPECT_EQ(test::run_in_child([&] {
                if (!install_filter([&](auto filter) { return forbid_io_uring(filter, error); })) {
                  return kNoFilter;
                }
                const Opened opened = open_here(directory.path());
                if (opened.device->description() != "posix, O_DIRECT") {
                  return 1;
                }
                const test::RecordedMessage only = opened.only();
                if (!has(only.message, "io_uring cannot be used") ||
                    only.level != LogLevel::warning || only.component != "device" ||
                    only.field("error") != std::generic_category().message(error) ||
                    only.field("path") != directory.path() ||
                    only.field("device") != "posix, O_DIRECT") {
                  return 2;
                }
                return round_trip(*opened.device) ? 0 : 3;
              }),
              0)
        << std::generic_category().message(error);
  }
}

TEST_F(RefusalTest, WithoutDirectIoFilesAreBuffered) {
  EXPECT_EQ(test::run_in_child([&] {
              if (!install_filter(forbid_direct)) {
                return kNoFilter;
              }
              const Opened opened = open_here(directory_.path());
              if (!has(opened.device->description(), "buffered (O_DIRECT refused: Invalid")) {
                return 1;
              }
              const test::RecordedMessage only = opened.only();
              if (!has(only.message, "O_DIRECT is refused") || only.level != LogLevel::warning ||
                  only.field("path") != directory_.path()) {
                return 3;
              }
              return round_trip(*opened.device) ? 0 : 2;
            }),
            0);
}

TEST_F(RefusalTest, WithNeitherItStillWorks) {
  EXPECT_EQ(test::run_in_child([&] {
              if (!install_filter([](auto filter) {
                    return forbid_direct(filter) && forbid_io_uring(filter, EPERM);
                  })) {
                return kNoFilter;
              }
              const Opened opened = open_here(directory_.path());
              if (!has(opened.device->description(), "posix, buffered")) {
                return 1;
              }
              const bool are_told = opened.recorder.all().size() == 2 &&
                                    opened.recorder.count("device", "O_DIRECT is refused") == 1 &&
                                    opened.recorder.count("device", "io_uring cannot be used") == 1;
              return round_trip(*opened.device) && are_told ? 0 : 2;
            }),
            0);
}

TEST_F(RefusalTest, RingsThatAreRefusedLaterFallBackBatchByBatch) {
  EXPECT_EQ(test::run_in_child([&] {
              Opened opened;  // rings are still available when the device is opened
              DeviceOptions options;
              options.log = opened.recorder.function();
              opened.device = open_device(directory_.path(), options);
              if (opened.device->description() != "io_uring, O_DIRECT") {
                return 1;
              }
              if (!install_filter([](auto filter) { return forbid_io_uring(filter, ENOMEM); })) {
                return kNoFilter;
              }
              if (!round_trip(*opened.device)) {
                return 2;
              }
              return has(opened.only().message, "no further io_uring") ? 0 : 3;
            }),
            0);
}

TEST_F(RefusalTest, ARingThatTakesNoRequestsIsGivenUp) {
  EXPECT_EQ(test::run_in_child([&] {
              const Opened opened = open_here(directory_.path());
              if (!round_trip(*opened.device)) {
                return 1;
              }
              // From now on no ring accepts anything, and no new one can be made.
              if (!install_filter([](auto filter) {
                    return forbid_io_uring(filter, ENOMEM) &&
                           ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAGAIN),
                                              SCMP_SYS(io_uring_enter), 0) == 0;
                  })) {
                return kNoFilter;
              }
              opened.device->remove("pages");
              return round_trip(*opened.device) && opened.device->statistics().repeats != 0 ? 0 : 2;
            }),
            0);
}

TEST_F(RefusalTest, WithoutFallocateSpaceIsWritten) {
  EXPECT_EQ(test::run_in_child([&] {
              if (!install_filter([](auto filter) {
                    return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP),
                                              SCMP_SYS(fallocate), 0) == 0;
                  })) {
                return kNoFilter;
              }
              const Opened opened = open_here(directory_.path());
              const auto file = opened.device->open("pages", OpenMode::create_new, true);
              AlignedMemory memory(4096, 4096);
              std::memset(memory.data(), 7, 4096);
              file->write(0, memory.bytes());
              file->allocate(4096, 300 * 1024 + 100);
              if (file->size_bytes() != 4096 + 300 * 1024 + 100) {
                return 1;
              }
              file->read(0, memory.bytes());
              if (memory.bytes()[4095] != std::byte{7}) {
                return 2;
              }
              file->read(4096 + 200 * 1024, memory.bytes());
              if (memory.bytes()[0] != std::byte{0}) {
                return 3;
              }
              file->allocate(0, 8192);
              return file->size_bytes() == 4096 + 300 * 1024 + 100 ? 0 : 4;
            }),
            0);
}

TEST_F(RefusalTest, AnOldKernelsStatxPromisesNothing) {
  EXPECT_EQ(test::run_in_child([&] {
              const int file = ::open(directory_.path("x").c_str(), O_CREAT | O_RDWR, 0600);
              if (file < 0 || !install_filter([](auto filter) {
                    return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(statx), 0) ==
                           0;
                  })) {
                return kNoFilter;
              }
              const DirectIoLimits limits = direct_io_limits(file);
              return limits.alignment_bytes == 4096 && limits.atomic_write_bytes_max == 0 ? 0 : 1;
            }),
            0);
}

TEST_F(RefusalTest, AReadOnlyFileSystemSaysSo) {
  const std::string mounted = directory_.path("mounted");
  EXPECT_EQ(test::run_in_child([&] {
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                  ::mkdir(mounted.c_str(), 0700) != 0 ||
                  ::mount("tmpfs", mounted.c_str(), "tmpfs", MS_RDONLY, nullptr) != 0) {
                return kNoFilter;
              }
              DeviceOptions options;
              options.create = true;
              try {
                static_cast<void>(open_device(mounted + "/new", options));
                return 1;
              } catch (const Error& error) {
                if (error.code() != ErrorCode::permission_denied ||
                    !has(error.what(), "read-only file system")) {
                  return 2;
                }
              }
              const auto device = open_device(mounted, options);
              try {
                static_cast<void>(device->open("a", OpenMode::create_new, false));
                return 3;
              } catch (const Error& error) {
                return error.code() == ErrorCode::permission_denied &&
                               has(error.what(), "Read-only file system")
                           ? 0
                           : 4;
              }
            }),
            0)
      << "(90: this user may not mount)";
}

}  // namespace
}  // namespace palimpsest::io
