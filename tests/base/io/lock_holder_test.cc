// Which process has locked a file, and locks that a killed process leaves.
#include "base/io/lock_holder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_memory.h"
#include "base/io/file_descriptor.h"
#include "base/io/posix_device.h"
#include "base/io/uring_device.h"
#include "base/sync_point.h"
#include "tests/support/error_of.h"
#include "tests/support/killed_process.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::io {
namespace {

using test::KilledProcess;

/// A process's number.
using Report = pid_t;

void report(int pipe, Report number) {
  if (::write(pipe, &number, sizeof number) != sizeof number) {
    ::_exit(1);
  }
}

/// Reads some blocks in a batch, which uses a ring.
void read_batch(File& file) {
  AlignedMemory memory(8 * 4096, 4096);
  std::vector<Transfer> batch;
  for (std::size_t block = 0; block < 8; ++block) {
    batch.push_back(
        {.offset_bytes = block * 4096, .data = memory.bytes().subspan(block * 4096, 4096)});
  }
  file.run(batch);
}

class LockHolderTest : public ::testing::Test {
 protected:
  LockHolderTest() {
    PosixDevice device(directory_.path(), false);
    device.open("a", OpenMode::create_new, false)->allocate(0, 64 * 4096);
  }

  [[nodiscard]] std::unique_ptr<File> open() {
    return PosixDevice(directory_.path(), false).open("a", OpenMode::read_write, true);
  }
  [[nodiscard]] LockHolder holder() const {
    const auto file = FileDescriptor::opened_by(
        [&] { return ::open(directory_.path("a").c_str(), O_RDONLY | O_CLOEXEC); });
    return find_lock_holder(file.number());
  }

  test::TemporaryDirectory directory_;
};

std::chrono::steady_clock::time_point in_a_minute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

TEST_F(LockHolderTest, AProcessThatRunsIsNamed) {
  EXPECT_FALSE(holder().process.has_value());
  KilledProcess<Report> process([&](int pipe) {
    const auto file = open();
    report(pipe, ::getpid());
    ::pause();
    return 0;
  });
  const auto number = process.read(in_a_minute());
  ASSERT_TRUE(number.has_value());
  EXPECT_EQ(holder().process, number);
  EXPECT_TRUE(holder().is_running);
  EXPECT_EQ(
      test::error_of([&] { return open(); }, "process " + std::to_string(*number) + " has it"),
      ErrorCode::locked);
}

TEST_F(LockHolderTest, ThisProcessSaysThatItIsIt) {
  const auto file = open();
  EXPECT_EQ(test::error_of([&] { return open(); }, "this process has it open"), ErrorCode::locked);
}

/// The kernel frees the io_uring registrations of a killed process late: a locked file must not be
/// among them.
TEST_F(LockHolderTest, AKilledProcessKeepsNoLockThroughItsRings) {
  if (UringDevice::probe() != 0) {
    GTEST_SKIP() << "no io_uring here";
  }
  for (int round = 0; round < 20; ++round) {
    {
      KilledProcess<Report> process([&](int pipe) {
        UringDevice device(directory_.path(), false, stderr_log_sink());
        const auto file = device.open("a", OpenMode::read_write, true);
        read_batch(*file);
        report(pipe, ::getpid());
        ::pause();
        return 0;
      });
      ASSERT_TRUE(process.read(in_a_minute()).has_value());
    }
    const auto file = FileDescriptor::opened_by(
        [&] { return ::open(directory_.path("a").c_str(), O_RDWR | O_CLOEXEC); });
    ASSERT_EQ(::flock(file.number(), LOCK_EX | LOCK_NB), 0) << "in round " << round;
  }
}

#ifdef PALIMPSEST_SYNC_POINTS

/// A child made without handlers of fork() holds the file of a process that has ended, as
/// unfinished I/O would: opening waits longer for it.
TEST_F(LockHolderTest, AProcessThatHasEndedIsWaitedForLonger) {
  std::array<int, 2> alive{};
  ASSERT_EQ(::pipe(alive.data()), 0);
  std::optional<Report> number;
  {
    KilledProcess<Report> process([&](int pipe) {
      const auto file = open();
      if (::_Fork() == 0) {
        ::close(alive[1]);
        char nothing = 0;
        ::_exit(::read(alive[0], &nothing, 1) == 0 ? 0 : 1);
      }
      report(pipe, ::getpid());
      ::pause();
      return 0;
    });
    number = process.read(in_a_minute());
  }
  ASSERT_TRUE(number.has_value());
  EXPECT_FALSE(holder().is_running);
  const auto begin = std::chrono::steady_clock::now();
  bool is_alive = true;
  const SyncHook awaited("io.lock.awaited", [&] {
    if (is_alive && std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(1'500)) {
      ::close(alive[1]);
      is_alive = false;
    }
  });
  EXPECT_NO_THROW(static_cast<void>(open()));
  EXPECT_FALSE(is_alive);
  ::close(alive[0]);
}

#endif

}  // namespace
}  // namespace palimpsest::io
