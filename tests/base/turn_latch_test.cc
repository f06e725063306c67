// Latches that serialize calls: exclusion with more threads than cores, waking of sleepers, and a
// thread that takes its latch again.
#include "base/turn_latch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

constexpr std::size_t kThreads = 6;
constexpr std::size_t kTurns = 20'000;

/// Called by the latch's holder: waits until so many threads have arrived, and have had time to
/// sleep.
void let_come(const std::atomic<int>& coming, int count) {
  while (coming < count) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::yield();
  }
}

template <class Latch>
class TurnLatchTest : public testing::Test {};
using Latches = testing::Types<TurnLatch, RecursiveTurnLatch>;
TYPED_TEST_SUITE(TurnLatchTest, Latches);

TYPED_TEST(TurnLatchTest, ShutsOutAllOtherThreads) {
  TypeParam latch;
  std::uint64_t count = 0;  // not atomic: protected by the latch
  bool inside = false;
  std::atomic<int> met{0};
  test::run_threads(kThreads, [&](std::size_t thread) {
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      const std::lock_guard lock(latch);
      met += inside ? 1 : 0;
      inside = true;
      ++count;
      if (turn % 1000 == thread) {
        std::this_thread::yield();  // lets other threads find it latched, and sleep
      }
      inside = false;
    }
  });
  EXPECT_EQ(met, 0);
  EXPECT_EQ(count, kThreads * kTurns);
}

TYPED_TEST(TurnLatchTest, ASleepingThreadIsWoken) {
  for (int round = 0; round < 20; ++round) {
    TypeParam latch;
    std::atomic<bool> held{false};
    std::atomic<int> coming{0};
    int had = 0;
    test::run_threads(4, [&](std::size_t thread) {
      if (thread == 0) {
        const std::lock_guard lock(latch);
        held = true;
        let_come(coming, 3);
        EXPECT_EQ(had, 0);
        return;
      }
      while (!held) {
        std::this_thread::yield();
      }
      ++coming;
      const std::lock_guard lock(latch);
      ++had;
    });
    EXPECT_EQ(had, 3);
  }
}

TEST(TurnLatch, IsTriedWithoutWaiting) {
  TurnLatch latch;
  EXPECT_TRUE(latch.try_lock());
  EXPECT_FALSE(latch.try_lock());
  latch.unlock();
  EXPECT_TRUE(latch.try_lock());
  latch.unlock();
}

TEST(RecursiveTurnLatch, IsFreeWhenItWasUnlockedAsOften) {
  RecursiveTurnLatch latch;
  std::atomic<bool> held{false};
  std::atomic<int> coming{0};
  std::atomic<bool> had{false};
  test::run_threads(2, [&](std::size_t thread) {
    if (thread == 0) {
      latch.lock();
      latch.lock();
      latch.lock();
      held = true;
      latch.unlock();
      latch.unlock();
      let_come(coming, 1);
      EXPECT_FALSE(had) << "one lock is left";
      latch.unlock();
      return;
    }
    while (!held) {
      std::this_thread::yield();
    }
    ++coming;
    const std::lock_guard lock(latch);
    had = true;
  });
  EXPECT_TRUE(had);
}

}  // namespace
}  // namespace palimpsest
