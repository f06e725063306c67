// The contract of all devices: io_uring, POSIX, mapped files (persistent or not) and the simulated
// disk.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/aligned_memory.h"
#include "base/io/open_device.h"
#include "base/io/pmem_device.h"
#include "base/io/posix_device.h"
#include "base/io/uring_device.h"
#include "base/sync_point.h"
#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/log_recorder.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::io {
namespace {

class DeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "uring" && UringDevice::probe() != 0) {
      GTEST_SKIP() << "io_uring is not allowed here";
    }
    device_ = make();
  }
  [[nodiscard]] std::unique_ptr<Device> make() {
    if (GetParam() == "uring") {
      return std::make_unique<UringDevice>(directory_.path(), false, stderr_log_sink());
    }
    if (GetParam() == "posix") {
      return std::make_unique<PosixDevice>(directory_.path(), false);
    }
    if (GetParam() == "pmem") {
      return std::make_unique<PmemDevice>(directory_.path(), false);
    }
    return disk_.device();
  }
  [[nodiscard]] bool is_real() const { return GetParam() != "sim"; }
  static void fill(MutableBytes bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(std::size_t{seed} * 131 + i / 7 + i);
    }
  }

  test::TemporaryDirectory directory_{
      GetParam() == "pmem" ? test::memory_file_system() : std::filesystem::temp_directory_path()};
  test::SimDisk disk_;
  std::unique_ptr<Device> device_;
};

TEST_P(DeviceTest, WhatIsWrittenIsRead) {
  const auto file = device_->open("pages", OpenMode::create_new, true);
  AlignedMemory written(65536, 4096);
  AlignedMemory read(65536, 4096);
  fill(written.bytes(), 1);
  file->write(4096, written.bytes());
  EXPECT_EQ(file->size_bytes(), 4096U + 65536U);
  file->sync();
  file->read(4096, read.bytes());
  EXPECT_EQ(std::memcmp(read.data(), written.data(), 65536), 0);
  file->read(0, read.bytes().first(4096));
  EXPECT_TRUE(std::all_of(read.data(), read.data() + 4096,
                          [](std::byte value) { return value == std::byte{0}; }));
}

TEST_P(DeviceTest, BatchesOfAnySizeAreRunWhole) {
  const auto file = device_->open("pages", OpenMode::create_new, false);
  constexpr std::size_t kBlocks = 300;
  AlignedMemory memory(kBlocks * 4096, 4096);
  AlignedMemory copy(kBlocks * 4096, 4096);
  fill(memory.bytes(), 2);
  for (const std::size_t count : {1U, 2U, 3U, 64U, 128U, 129U, 300U}) {
    std::vector<Transfer> batch;
    batch.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      batch.push_back({.kind = Transfer::Kind::write,
                       .offset_bytes = (count - 1 - i) * 4096,
                       .data = memory.bytes().subspan(i * 4096, 4096)});
    }
    file->run(batch);
    for (Transfer& transfer : batch) {
      EXPECT_EQ(transfer.error, 0);
      transfer.kind = Transfer::Kind::read;
      transfer.data = copy.bytes().subspan(
          static_cast<std::size_t>(transfer.data.data() - memory.data()), 4096);
    }
    std::fill_n(copy.data(), count * 4096, std::byte{0});
    std::reverse(batch.begin(), batch.end());  // adjacent blocks, for the vectored calls
    file->run(batch);
    EXPECT_EQ(std::memcmp(copy.data(), memory.data(), count * 4096), 0) << count;
  }
  const IoStatistics statistics = device_->statistics();
  EXPECT_EQ(statistics.writes, 627U);
  EXPECT_EQ(statistics.reads, 627U);
  EXPECT_EQ(statistics.written_bytes, 627U * 4096);
  EXPECT_EQ(statistics.read_bytes, 627U * 4096);
  EXPECT_EQ(statistics.batches, 14U);
  EXPECT_EQ(statistics.errors, 0U);
  EXPECT_EQ(statistics.syncs, 0U);
}

TEST_P(DeviceTest, ReadsBeyondTheEndSaySo) {
  const auto file = device_->open("pages", OpenMode::create_new, false);
  AlignedMemory memory(std::size_t{5} * 4096, 4096);
  file->write(0, memory.bytes().first(8192));
  std::vector<Transfer> batch;
  batch.reserve(5);
  for (std::size_t i = 0; i < 5; ++i) {
    batch.push_back({.kind = Transfer::Kind::read,
                     .offset_bytes = i * 4096,
                     .data = memory.bytes().subspan(i * 4096, 4096)});
  }
  file->run(batch);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(batch[i].error, i < 2 ? 0 : kEndOfFile) << i;
  }
  EXPECT_EQ(device_->statistics().errors, 3U);
  // A file that ends within a block.
  file->truncate(4096 + 100);
  EXPECT_EQ(file->size_bytes(), 4196U);
  file->run(batch);
  EXPECT_EQ(batch[0].error, 0);
  EXPECT_EQ(batch[1].error, kEndOfFile);
  EXPECT_EQ(test::error_of([&] { return file->read(4096, memory.bytes().first(4096)); }),
            ErrorCode::io_error);
}

TEST_P(DeviceTest, AllocationExtendsWithZerosAndNeverShrinks) {
  const auto file = device_->open("pages", OpenMode::create_new, false);
  AlignedMemory memory(4096, 4096);
  fill(memory.bytes(), 3);
  file->allocate(0, 1 << 20);
  EXPECT_EQ(file->size_bytes(), 1U << 20U);
  file->write(8192, memory.bytes());
  file->allocate(0, 4096);
  file->sync();
  EXPECT_EQ(file->size_bytes(), 1U << 20U);
  AlignedMemory copy(4096, 4096);
  file->read(8192, copy.bytes());
  EXPECT_EQ(std::memcmp(copy.data(), memory.data(), 4096), 0);
  file->read(0, copy.bytes());
  EXPECT_EQ(std::count(copy.data(), copy.data() + 4096, std::byte{0}), 4096);
  file->truncate(8192);
  file->allocate(0, 16384);
  file->read(8192, copy.bytes());
  EXPECT_EQ(std::count(copy.data(), copy.data() + 4096, std::byte{0}), 4096)
      << "bytes cut off came back";
}

TEST_P(DeviceTest, OpenModes) {
  std::string message;
  EXPECT_EQ(
      test::error_of([&] { return device_->open("a", OpenMode::read_write, false); }, &message),
      ErrorCode::not_found);
  EXPECT_THAT(message, ::testing::HasSubstr("a\""));
  EXPECT_FALSE(device_->exists("a"));
  const auto file = device_->open("a", OpenMode::create_new, false);
  EXPECT_TRUE(device_->exists("a"));
  EXPECT_EQ(
      test::error_of([&] { return device_->open("a", OpenMode::create_new, false); }, &message),
      ErrorCode::already_exists);
  AlignedMemory memory(4096, 4096);
  file->write(0, memory.bytes());
  const auto reader = device_->open("a", OpenMode::read_only, false);
  EXPECT_NO_THROW(reader->read(0, memory.bytes()));
  EXPECT_EQ(test::error_of([&] { return reader->write(0, memory.bytes()); }), ErrorCode::io_error);
}

TEST_P(DeviceTest, NamesAreListedRenamedRemoved) {
  for (const char* name : {"b", "a", "c"}) {
    static_cast<void>(device_->open(name, OpenMode::create_new, false));
  }
  EXPECT_THAT(device_->list(), ::testing::ElementsAre("a", "b", "c"));
  device_->rename("a", "c");
  device_->remove("b");
  device_->sync_directory();
  EXPECT_THAT(device_->list(), ::testing::ElementsAre("c"));
  EXPECT_THAT(device_->list(), ::testing::ElementsAre("c"));
  EXPECT_EQ(test::error_of([&] { return device_->remove("b"); }), ErrorCode::not_found);
  EXPECT_EQ(test::error_of([&] { return device_->rename("b", "d"); }), ErrorCode::not_found);
}

TEST_P(DeviceTest, ARemovedFileCanBeUsedWhileOpen) {
  const auto file = device_->open("a", OpenMode::create_new, false);
  AlignedMemory memory(4096, 4096);
  file->write(0, memory.bytes());
  device_->remove("a");
  device_->sync_directory();
  EXPECT_NO_THROW(file->read(0, memory.bytes()));
  EXPECT_NO_THROW(file->sync());
}

TEST_P(DeviceTest, ExclusiveOpensExcludeEachOther) {
  auto first = device_->open("a", OpenMode::create_new, true);
  std::string message;
  const auto open_again = [&] { return make()->open("a", OpenMode::read_write, true); };
  EXPECT_EQ(test::error_of([&] { return open_again(); }, &message), ErrorCode::locked);
  EXPECT_THAT(message, ::testing::HasSubstr("/a\" is in use"));
  EXPECT_NO_THROW(static_cast<void>(device_->open("a", OpenMode::read_only, false)))
      << "only exclusive opens count";
  // Use a batch, so that a ring has the file in its table: closing must free the lock all the same.
  AlignedMemory memory(8192, 4096);
  std::vector<Transfer> batch{
      {.kind = Transfer::Kind::write, .offset_bytes = 0, .data = memory.bytes().first(4096)},
      {.kind = Transfer::Kind::write, .offset_bytes = 4096, .data = memory.bytes().last(4096)}};
  first->run(batch);
  first.reset();
  EXPECT_NO_THROW(open_again());
}

#ifdef PALIMPSEST_SYNC_POINTS

/// The kernel closes the files of a killed process only after the process is gone.
TEST_P(DeviceTest, AFileThatIsAboutToBeClosedIsWaitedFor) {
  if (!is_real()) {
    GTEST_SKIP() << "nothing ends by itself there";
  }
  auto first = device_->open("a", OpenMode::create_new, true);
  const SyncHook awaited("io.lock.awaited", [&] { first.reset(); });
  EXPECT_NO_THROW(static_cast<void>(make()->open("a", OpenMode::read_write, true)));
  EXPECT_GE(awaited.hits(), 1U);
}

#endif

TEST_P(DeviceTest, ALockedDirectoryIsNotLockedTwice) {
  auto lock = device_->lock_directory();
  EXPECT_EQ(test::error_of([&] { return device_->lock_directory(); }, "in use"), ErrorCode::locked);
  EXPECT_NO_THROW(static_cast<void>(device_->open("a", OpenMode::create_new, true)));
  EXPECT_NO_THROW(static_cast<void>(device_->list()));
  lock.reset();
  EXPECT_NO_THROW(static_cast<void>(device_->lock_directory()));
}

TEST_P(DeviceTest, AnotherProcessIsLockedOut) {
  if (!is_real()) {
    GTEST_SKIP() << "one process only";
  }
  auto first = device_->open("a", OpenMode::create_new, true);
  const auto try_in_child = [&] {
    return test::run_in_child([&] {
      const auto code = test::error_of([&] {
        return PosixDevice(directory_.path(), false).open("a", OpenMode::read_write, true);
      });
      return code ? static_cast<int>(*code) : 0;
    });
  };
  EXPECT_EQ(try_in_child(), static_cast<int>(ErrorCode::locked));
  first.reset();
  EXPECT_EQ(try_in_child(), 0);
  // Conversely, a lock ends with the process that holds it.
  EXPECT_EQ(test::run_in_child([&] {
              auto held =
                  PosixDevice(directory_.path(), false).open("a", OpenMode::read_write, true);
              [[maybe_unused]] const File* const never_closed = held.release();
              return 0;
            }),
            0);
  EXPECT_NO_THROW(static_cast<void>(device_->open("a", OpenMode::read_write, true)));
}

TEST_P(DeviceTest, AClosedFileIsNotLockedByAChildThatInheritedIt) {
  if (!is_real()) {
    GTEST_SKIP() << "one process only";
  }
  auto first = device_->open("a", OpenMode::create_new, true);
  auto directory = device_->lock_directory();
  std::array<int, 2> until{};
  ASSERT_EQ(::pipe(until.data()), 0);
  const pid_t child = ::_Fork();  // without the handlers that would close its files
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(until[1]);
    char byte = 0;
    static_cast<void>(::read(until[0], &byte, 1));
    ::_exit(0);
  }
  first.reset();
  EXPECT_NO_THROW(first = device_->open("a", OpenMode::read_write, true));
  directory.reset();
  EXPECT_NO_THROW(directory = device_->lock_directory());
  ::close(until[0]);
  ::close(until[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
}

TEST_P(DeviceTest, EachTransferOfABatchHasItsOwnOutcome) {
  if (!is_real()) {
    GTEST_SKIP() << "sim_fault_test has this for the simulated disk";
  }
  // The system refuses to write beyond this size: of adjacent blocks, the first ones arrive.
  EXPECT_EQ(test::run_in_child([&] {
              constexpr rlim_t kBytesMax = rlim_t{6} * 4096;
              const rlimit limit{.rlim_cur = kBytesMax, .rlim_max = kBytesMax};
              if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
                return 1;
              }
              const auto file = make()->open("a", OpenMode::create_new, false);
              AlignedMemory memory(std::size_t{10} * 4096, 4096);
              std::vector<Transfer> batch;
              batch.reserve(10);
              for (std::size_t i = 0; i < 10; ++i) {
                batch.push_back({.kind = Transfer::Kind::write,
                                 .offset_bytes = i * 4096,
                                 .data = memory.bytes().subspan(i * 4096, 4096)});
              }
              file->run(batch);
              for (std::size_t i = 0; i < 10; ++i) {
                if (batch[i].error != (i < 6 ? 0 : EFBIG)) {
                  return 10 + static_cast<int>(i);
                }
              }
              return 0;
            }),
            0);
}

TEST_P(DeviceTest, NeitherLinksNorPathsNorDirectoriesAreOpened) {
  if (!is_real()) {
    GTEST_SKIP() << "has files only";
  }
  static_cast<void>(device_->open("target", OpenMode::create_new, false));
  std::filesystem::create_symlink("target", directory_.path("link"));
  std::filesystem::create_directory(directory_.path("inner"));
  std::string message;
  EXPECT_EQ(
      test::error_of([&] { return device_->open("link", OpenMode::read_write, false); }, &message),
      ErrorCode::permission_denied);
  EXPECT_THAT(message, ::testing::HasSubstr("symbolic link"));
  EXPECT_EQ(test::error_of([&] { return device_->open("inner", OpenMode::read_only, false); }),
            ErrorCode::invalid_argument);
  for (const char* name : {"", ".", "..", "../x", "inner/x", "/etc/passwd"}) {
    EXPECT_EQ(test::error_of([&] { return device_->open(name, OpenMode::read_only, false); }),
              ErrorCode::invalid_argument)
        << name;
    EXPECT_EQ(test::error_of([&] { return device_->remove(name); }), ErrorCode::invalid_argument);
    EXPECT_EQ(test::error_of([&] { return device_->rename("target", name); }),
              ErrorCode::invalid_argument);
  }
  std::filesystem::create_symlink("nowhere", directory_.path("dangling"));
  EXPECT_EQ(test::error_of([&] { return device_->open("dangling", OpenMode::create_new, false); }),
            ErrorCode::already_exists);
}

TEST_P(DeviceTest, FilesAreTheOwnersAlone) {
  if (!is_real()) {
    GTEST_SKIP() << "has no modes";
  }
  const mode_t old_mask = ::umask(0);
  static_cast<void>(device_->open("a", OpenMode::create_new, false));
  ::umask(old_mask);
  struct stat status{};
  ASSERT_EQ(::stat(directory_.path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_P(DeviceTest, RegisteredMemoryIsMemory) {
  const auto file = device_->open("a", OpenMode::create_new, false);
  const auto write_and_read = [&](AlignedMemory& memory, unsigned seed) {
    fill(memory.bytes(), seed);
    std::vector<Transfer> batch;
    batch.reserve(4);
    for (std::size_t i = 0; i < 4; ++i) {
      batch.push_back({.kind = Transfer::Kind::write,
                       .offset_bytes = i * 4096,
                       .data = memory.bytes().subspan(i * 4096, 4096)});
    }
    file->run(batch);
    AlignedMemory copy(16384, 4096);
    file->read(0, copy.bytes());
    EXPECT_EQ(std::memcmp(copy.data(), memory.data(), 16384), 0);
    std::fill_n(memory.data(), 16384, std::byte{0});
    for (Transfer& transfer : batch) {
      EXPECT_EQ(transfer.error, 0);
      transfer.kind = Transfer::Kind::read;
    }
    file->run(batch);
    EXPECT_EQ(std::memcmp(copy.data(), memory.data(), 16384), 0);
  };
  AlignedMemory memory(16384, 4096);
  write_and_read(memory, 1);
  auto registration = device_->register_buffer(memory.bytes());
  write_and_read(memory, 2);
  registration.reset();
  write_and_read(memory, 3);
  // More than can be registered, and more than is worthwhile.
  std::vector<std::unique_ptr<BufferRegistration>> many;
  many.reserve(21);
  for (int i = 0; i < 20; ++i) {
    many.push_back(device_->register_buffer(memory.bytes()));
  }
  AlignedMemory large(RingPool::kRegionBytesMax + 4096, 4096);
  many.push_back(device_->register_buffer(large.bytes()));
  write_and_read(memory, 4);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, ::testing::Values("uring", "posix", "pmem", "sim"),
                         [](const auto& test) { return test.param; });

class OpenDeviceTest : public ::testing::Test {
 protected:
  [[nodiscard]] DeviceOptions options(bool create) {
    return {.create = create, .log = recorder_.function()};
  }
  test::LogRecorder recorder_;
  [[nodiscard]] std::size_t reports() const {
    std::size_t count = 0;
    for (const test::RecordedMessage& one : recorder_.all()) {
      count += one.level == LogLevel::debug ? 0U : 1U;
    }
    return count;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(OpenDeviceTest, PrefersIoUringAndIsSilentAboutIt) {
  const auto device = open_device(directory_.path(), options(false));
  EXPECT_EQ(reports(), 0U);
  EXPECT_THAT(device->description(), ::testing::StartsWith("io_uring, "));
  EXPECT_EQ(device->path(), directory_.path());
  DeviceOptions posix = options(false);
  posix.preference = DeviceOptions::Preference::posix;
  EXPECT_THAT(open_device(directory_.path(), posix)->description(),
              ::testing::StartsWith("posix, "));
  EXPECT_EQ(reports(), 0U);
}

TEST_F(OpenDeviceTest, ALogOnAnOrdinaryDiskGetsTheOrdinaryDevice) {
  if (PmemDevice(directory_.path(), false).is_persistent()) {
    GTEST_SKIP() << "everything counts as persistent memory here";
  }
  EXPECT_EQ(open_log_device(directory_.path(), options(false))->description(),
            open_device(directory_.path(), options(false))->description());
  EXPECT_EQ(reports(), 0U);
}

TEST_F(OpenDeviceTest, CreatesAPrivateDirectoryOnRequest) {
  const std::string path = directory_.path("new");
  std::string message;
  EXPECT_EQ(test::error_of([&] { return open_device(path, options(false)); }, &message),
            ErrorCode::not_found);
  EXPECT_EQ(message, "the directory \"" + path + "\" does not exist");
  const mode_t old_mask = ::umask(0);
  EXPECT_NO_THROW(static_cast<void>(open_device(path, options(true))));
  ::umask(old_mask);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_NO_THROW(static_cast<void>(open_device(path, options(true))));
  EXPECT_EQ(test::error_of([&] { return open_device(path + "/x/y", options(true)); }, &message),
            ErrorCode::not_found);
  EXPECT_THAT(message, ::testing::HasSubstr("parent"));
}

TEST_F(OpenDeviceTest, AFileIsNotADirectory) {
  const std::string path = directory_.path("file");
  std::ofstream(path) << "x";
  std::string message;
  EXPECT_EQ(test::error_of([&] { return open_device(path, options(true)); }, &message),
            ErrorCode::not_a_database);
  EXPECT_EQ(message, "\"" + path + "\" is not a directory");
}

TEST_F(OpenDeviceTest, PermissionsOfAnotherUserAreRefused) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root to become another user";
  }
  const std::string path = directory_.path("private");
  static_cast<void>(open_device(path, options(true))->open("a", OpenMode::create_new, false));
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  std::filesystem::create_directory(directory_.path("readable"));
  constexpr uid_t kNobody = 65534;
  const auto as_other_user = [&](const auto& call) {
    return test::run_in_child([&] {
      if (::setresgid(kNobody, kNobody, kNobody) != 0 ||
          ::setresuid(kNobody, kNobody, kNobody) != 0) {
        return 99;
      }
      std::string message;
      const auto code = test::error_of(call, &message);
      const bool denied = message.find("ermission denied") != std::string::npos;
      return code && denied ? static_cast<int>(*code) : 98;
    });
  };
  constexpr int kDenied = static_cast<int>(ErrorCode::permission_denied);
  EXPECT_EQ(as_other_user([&] { return open_device(path, options(false)); }), kDenied);
  EXPECT_EQ(as_other_user([&] { return open_device(directory_.path("other"), options(true)); }),
            kDenied);
  EXPECT_EQ(as_other_user([&] {
              return open_device(directory_.path("readable"), options(false))
                  ->open("a", OpenMode::create_new, false);
            }),
            kDenied);
  ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(as_other_user([&] {
              return open_device(path, options(false))->open("a", OpenMode::read_only, false);
            }),
            kDenied);
}

}  // namespace
}  // namespace palimpsest::io
