#include "base/hybrid_latch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/sync_point.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

TEST(HybridLatch, OptimisticReadIsValidUntilAWriterUnlocks) {
  HybridLatch latch;
  const auto version = latch.optimistic();
  EXPECT_TRUE(latch.validate(version));
  latch.lock_exclusive();
  EXPECT_FALSE(latch.validate(version)) << "the writer may be changing what was read";
  EXPECT_FALSE(latch.try_optimistic());
  latch.unlock_exclusive();
  EXPECT_FALSE(latch.validate(version));
  EXPECT_TRUE(latch.validate(latch.optimistic()));
}

TEST(HybridLatch, SharedHoldersDoNotDisturbOptimisticReaders) {
  HybridLatch latch;
  const auto version = latch.optimistic();
  latch.lock_shared();
  EXPECT_TRUE(latch.validate(version));
  EXPECT_EQ(latch.optimistic(), version);
  latch.unlock_shared();
  EXPECT_TRUE(latch.validate(version));
}

TEST(HybridLatch, UnlockUnchangedKeepsVersions) {
  HybridLatch latch;
  const auto version = latch.optimistic();
  latch.lock_exclusive();
  EXPECT_FALSE(latch.validate(version));
  latch.unlock_exclusive_unchanged();
  EXPECT_TRUE(latch.validate(version));
}

TEST(HybridLatch, VersionAfterUnlockIsTheNextReadersVersion) {
  HybridLatch latch;
  latch.lock_exclusive();
  const auto announced = latch.version_after_unlock();
  EXPECT_FALSE(latch.validate(announced));
  latch.unlock_exclusive();
  EXPECT_TRUE(latch.validate(announced));
  EXPECT_EQ(latch.optimistic(), announced);
}

TEST(HybridLatch, ExclusiveExcludesAll) {
  HybridLatch latch;
  EXPECT_EQ(latch.lock_exclusive(), Waited::no);
  EXPECT_TRUE(latch.is_exclusive());
  EXPECT_TRUE(latch.is_held());
  EXPECT_FALSE(latch.try_lock_exclusive());
  EXPECT_FALSE(latch.try_lock_shared());
  latch.unlock_exclusive();
  EXPECT_FALSE(latch.is_held());
  EXPECT_TRUE(latch.try_lock_exclusive());
  latch.unlock_exclusive();
}

TEST(HybridLatch, SharedAdmitsSharedOnly) {
  HybridLatch latch;
  EXPECT_EQ(latch.lock_shared(), Waited::no);
  EXPECT_TRUE(latch.try_lock_shared());
  EXPECT_FALSE(latch.is_exclusive());
  EXPECT_TRUE(latch.is_held());
  latch.unlock_shared();
  EXPECT_FALSE(latch.try_lock_exclusive()) << "one shared holder is left";
  latch.unlock_shared();
  EXPECT_TRUE(latch.try_lock_exclusive());
  latch.unlock_exclusive();
}

TEST(HybridLatch, UpgradeNeedsTheVersionAndAFreeLatch) {
  HybridLatch latch;
  const auto version = latch.optimistic();
  latch.lock_shared();
  EXPECT_FALSE(latch.try_upgrade(version));
  latch.unlock_shared();
  ASSERT_TRUE(latch.try_upgrade(version));
  EXPECT_TRUE(latch.exclusive_at(version));
  EXPECT_FALSE(latch.try_upgrade(version)) << "it is held";
  latch.unlock_exclusive();
  EXPECT_FALSE(latch.try_upgrade(version)) << "the version has passed";
  latch.lock_exclusive();
  EXPECT_FALSE(latch.exclusive_at(version));
  latch.unlock_exclusive();
}

TEST(HybridLatch, SharedAtNeedsTheVersion) {
  HybridLatch latch;
  const auto version = latch.optimistic();
  ASSERT_TRUE(latch.try_shared_at(version));
  ASSERT_TRUE(latch.try_shared_at(version)) << "beside another shared holder";
  latch.unlock_shared();
  latch.unlock_shared();
  latch.lock_exclusive();
  EXPECT_FALSE(latch.try_shared_at(version));
  latch.unlock_exclusive();
  EXPECT_FALSE(latch.try_shared_at(version));
}

TEST(HybridLatch, ManySharedHolders) {
  HybridLatch latch;
  for (std::uint64_t i = 0; i < HybridLatch::kSharedMax; ++i) {
    ASSERT_TRUE(latch.try_lock_shared());
  }
  EXPECT_FALSE(latch.try_lock_shared()) << "the count must not run into the other bits";
  EXPECT_TRUE(latch.validate(latch.optimistic()));
  for (std::uint64_t i = 0; i < HybridLatch::kSharedMax; ++i) {
    latch.unlock_shared();
  }
  EXPECT_FALSE(latch.is_held());
}

// A waiting writer blocks new shared holders, but only until it has been served.
TEST(HybridLatch, AWaitingWriterStopsNewSharedHolders) {
  HybridLatch latch;
  std::atomic<bool> writer_done{false};
  latch.lock_shared();
  test::run_threads(2, [&](std::size_t thread) {
    if (thread == 0) {
      EXPECT_EQ(latch.lock_exclusive(), Waited::yes);
      writer_done.store(true);
      latch.unlock_exclusive();
      return;
    }
    while (latch.try_lock_shared()) {  // until the writer has announced itself
      latch.unlock_shared();
      std::this_thread::yield();
    }
    EXPECT_FALSE(writer_done.load());
    EXPECT_FALSE(latch.try_shared_at(latch.optimistic()));
    latch.unlock_shared();  // the one taken before the threads began
    EXPECT_EQ(latch.lock_shared() == Waited::yes || writer_done.load(), true);
    EXPECT_TRUE(writer_done.load());
    latch.unlock_shared();
  });
  EXPECT_TRUE(latch.try_lock_shared());
  latch.unlock_shared();
}

#ifdef PALIMPSEST_SYNC_POINTS

// The waiter has marked the latch and is about to sleep; the release comes before it sleeps.
TEST(HybridLatch, ReleaseBetweenMarkAndSleepIsNotLost) {
  for (const bool exclusive_waiter : {true, false}) {
    HybridLatch latch;
    latch.lock_exclusive();
    SyncBarrier about_to_sleep("latch.park.marked");
    test::run_threads(2, [&](std::size_t thread) {
      if (thread == 0) {
        about_to_sleep.wait_until_reached();
        latch.unlock_exclusive();
        about_to_sleep.release();
      } else if (exclusive_waiter) {
        EXPECT_EQ(latch.lock_exclusive(), Waited::yes);
        latch.unlock_exclusive();
      } else {
        EXPECT_EQ(latch.lock_shared(), Waited::yes);
        latch.unlock_shared();
      }
    });
  }
}

// A releaser has seen `parked` but not cleared it when a new holder and a new waiter come: the
// waiter finds `parked` set, and the new holder finds it cleared. The late raise of the sequence
// wakes the waiter.
TEST(HybridLatch, WaiterThatComesBeforeALateWakeIsNotLost) {
  HybridLatch latch;
  latch.lock_exclusive();
  SyncBarrier released("latch.wake.released");
  SyncHook marks("latch.park.marked", [] {});
  std::atomic<bool> woken{false};
  test::run_threads(3, [&](std::size_t thread) {
    if (thread == 0) {
      while (marks.hits() == 0) {
        std::this_thread::yield();
      }
      latch.unlock_exclusive();  // stops before it clears parked
      woken.store(true);
    } else if (thread == 1) {
      static_cast<void>(latch.optimistic());
    } else {
      released.wait_until_reached();
      latch.lock_shared();
      SyncBarrier about_to_sleep("latch.park.marked");
      std::jthread late([&] {
        latch.lock_exclusive();
        latch.unlock_exclusive();
      });
      about_to_sleep.wait_until_reached();
      released.release();
      while (!woken.load()) {
        std::this_thread::yield();
      }
      latch.unlock_shared();
      about_to_sleep.release();
    }
  });
}

#endif

#ifdef PALIMPSEST_DEBUG_CHECKS

using HybridLatchDeathTest = ::testing::Test;

TEST(HybridLatchDeathTest, MisuseIsNoticed) {
  HybridLatch latch;
  EXPECT_DEATH(latch.unlock_shared(), "unlock_shared without a shared holder");
  EXPECT_DEATH(latch.unlock_exclusive(), "exclusive released without being held");
  EXPECT_DEATH(static_cast<void>(latch.version_after_unlock()),
               "version_after_unlock needs the exclusive latch");
  EXPECT_DEATH(
      {
        HybridLatch held;
        held.lock_shared();
      },
      "latch destroyed while held");
}

#endif

TEST(HybridLatch, TooManySharedHoldersAbort) {
  EXPECT_DEATH(
      {
        HybridLatch latch;
        for (std::uint64_t i = 0; i <= HybridLatch::kSharedMax; ++i) {
          latch.lock_shared();
        }
      },
      "too many shared holders");
}

}  // namespace
}  // namespace palimpsest
