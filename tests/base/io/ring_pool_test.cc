// The pool lends a ring to one thread at a time, removes closed files from rings, and drops broken
// ones.
#include "base/io/ring_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/log_sink.h"
#include "tests/support/thread_group.h"

namespace palimpsest::io {
namespace {

class RingPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int error = 0;
    if (Ring::create(error) == nullptr) {
      GTEST_SKIP() << "io_uring is not allowed here";
    }
    ASSERT_EQ(::pipe(pipe_.data()), 0);
  }
  void TearDown() override {
    for (const int end : pipe_) {
      if (end >= 0) {
        ::close(end);
      }
    }
  }
  static void write_one(Ring& ring, const RingFile& file) {
    std::byte byte{7};
    RingRequest request{.is_write = true, .data = {&byte, 1}};
    ring.run(file, {&request, 1});
    EXPECT_EQ(request.result, 1);
  }
  /// Reads all bytes, and returns whether the pipe has no writer any more.
  [[nodiscard]] bool drained_pipe_is_closed() const {
    for (;;) {
      pollfd waiting{.fd = pipe_[0], .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 5000) <= 0) {
        return false;
      }
      char byte = 0;
      const ssize_t count = ::read(pipe_[0], &byte, 1);
      if (count <= 0) {
        return count == 0;
      }
    }
  }

  std::array<int, 2> pipe_{-1, -1};
  RingPool pool_{stderr_log_sink()};
};

TEST_F(RingPoolTest, ARingIsUsedAgain) {
  {
    const auto first = pool_.lend();
    const auto second = pool_.lend();
    ASSERT_TRUE(first && second);
    EXPECT_NE(&*first, &*second);
  }
  EXPECT_EQ(pool_.rings_count(), 2U);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(pool_.lend());
  }
  EXPECT_EQ(pool_.rings_count(), 2U) << "idle rings are not taken again";
}

TEST_F(RingPoolTest, AnIdleRingServesEveryProcessor) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(processor, &only);
      ASSERT_EQ(::sched_setaffinity(0, sizeof only, &only), 0);
      EXPECT_TRUE(pool_.lend());
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(pool_.rings_count(), 1U);
}

TEST_F(RingPoolTest, AClosedFileIsLetGoByIdleRings) {
  const RingFile file = pool_.add_file(pipe_[1]);
  {
    const auto first = pool_.lend();
    const auto second = pool_.lend();
    write_one(*first, file);
    write_one(*second, file);
  }
  pool_.forget_file(file);
  ::close(pipe_[1]);
  pipe_[1] = -1;
  EXPECT_TRUE(drained_pipe_is_closed()) << "a ring holds the closed file open";
}

TEST_F(RingPoolTest, AClosedFileIsLetGoByALentRingWhenItComesBack) {
  const RingFile file = pool_.add_file(pipe_[1]);
  {
    const auto lent = pool_.lend();
    write_one(*lent, file);
    pool_.forget_file(file);
    ::close(pipe_[1]);
    pipe_[1] = -1;
  }
  EXPECT_TRUE(drained_pipe_is_closed()) << "a ring holds the closed file open";
}

TEST_F(RingPoolTest, APlaceUsedAgainIsAnotherFile) {
  const RingFile file = pool_.add_file(pipe_[1]);
  std::array<int, 2> other_pipe{};
  ASSERT_EQ(::pipe2(other_pipe.data(), O_NONBLOCK), 0);
  RingFile other;
  {
    const auto lent = pool_.lend();  // not told before it comes back
    write_one(*lent, file);
    pool_.forget_file(file);
    other = pool_.add_file(other_pipe[1]);
  }
  EXPECT_EQ(other.slot, file.slot);
  EXPECT_NE(other.id, file.id);
  write_one(*pool_.lend(), other);
  char byte = 0;
  EXPECT_EQ(::read(other_pipe[0], &byte, 1), 1);
  pool_.forget_file(other);
  ::close(other_pipe[0]);
  ::close(other_pipe[1]);
}

TEST_F(RingPoolTest, MoreFilesThanPlacesWork) {
  std::vector<RingFile> files;
  for (std::size_t i = 0; i < Ring::kFileSlots + 10; ++i) {
    files.push_back(pool_.add_file(pipe_[1]));
    write_one(*pool_.lend(), files.back());
  }
  EXPECT_EQ(files.back().slot, RingFile::kNone);
  for (const RingFile& file : files) {
    pool_.forget_file(file);
  }
}

TEST_F(RingPoolTest, FreedMemoryIsLetGoBeforeItsAddressIsUsedAgain) {
  // The same address with other pages behind it: a ring that kept the registration would write the
  // old pages' content.
  constexpr std::size_t kSize = 1U << 20U;
  void* const address =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  const MutableBytes memory{static_cast<std::byte*>(address), kSize};
  const RingFile file = pool_.add_file(pipe_[1]);
  const auto send_first_byte = [&] {
    RingRequest request{.is_write = true, .data = memory.first(1)};
    pool_.lend()->run(file, {&request, 1});
    EXPECT_EQ(request.result, 1);
    char byte = 0;
    EXPECT_EQ(::read(pipe_[0], &byte, 1), 1);
    return byte;
  };
  for (char value = 1; value < 5; ++value) {
    const std::uint64_t region = pool_.add_region(memory);
    EXPECT_NE(region, 0U);
    std::memset(address, value, kSize);
    EXPECT_EQ(send_first_byte(), value);
    pool_.forget_region(region);
    ASSERT_EQ(::mmap(address, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              address);
    EXPECT_EQ(send_first_byte(), 0);
  }
  pool_.forget_file(file);
  ::munmap(address, kSize);
}

TEST_F(RingPoolTest, LargeMemoryIsNotPinned) {
  std::byte byte{};
  EXPECT_EQ(pool_.add_region({&byte, RingPool::kRegionBytesMax + 1}), 0U);
  EXPECT_EQ(pool_.add_region({}), 0U);
}

TEST_F(RingPoolTest, NoTwoThreadsHoldOneRing) {
  constexpr std::size_t kThreads = 8;
  // Each thread publishes its ring before it looks at the other threads': of two with the same, one
  // sees it.
  std::array<std::atomic<const Ring*>, kThreads> lent{};
  test::run_threads(kThreads, [&](std::size_t thread) {
    for (int i = 0; i < 5000; ++i) {
      if (thread == 0) {  // one thread opens and closes files all the time
        pool_.forget_file(pool_.add_file(pipe_[1]));
        continue;
      }
      const auto ring = pool_.lend();
      ASSERT_TRUE(ring);
      lent[thread].store(&*ring, std::memory_order_seq_cst);
      std::this_thread::yield();
      for (std::size_t other = 0; other < kThreads; ++other) {
        ASSERT_TRUE(other == thread || lent[other].load(std::memory_order_seq_cst) != &*ring)
            << "lent twice";
      }
      lent[thread].store(nullptr, std::memory_order_seq_cst);
    }
  });
  // Of each word, at most as many as there were threads at once (invariant 3).
  const auto words = static_cast<std::size_t>(std::clamp(::get_nprocs_conf(), 1, 16));
  EXPECT_LE(pool_.rings_count(), kThreads * words);
}

}  // namespace
}  // namespace palimpsest::io
