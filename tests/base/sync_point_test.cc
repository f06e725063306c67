#include "base/sync_point.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

#ifdef PALIMPSEST_SYNC_POINTS

TEST(SyncPoint, HookRunsOnlyAtItsName) {
  int runs = 0;
  const SyncHook hook("test.one", [&] { ++runs; });
  PALIMPSEST_SYNC_POINT("test.one");
  PALIMPSEST_SYNC_POINT("test.other");
  PALIMPSEST_SYNC_POINT("test.one");
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(hook.hits(), 2U);
}

TEST(SyncPoint, HooksOfOneNameRunInOrder) {
  std::vector<int> order;
  const SyncHook first("test.order", [&] { order.push_back(1); });
  const SyncHook second("test.order", [&] { order.push_back(2); });
  PALIMPSEST_SYNC_POINT("test.order");
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(SyncPoint, NothingRunsAfterTheHookIsGone) {
  int runs = 0;
  {
    const SyncHook hook("test.gone", [&] { ++runs; });
  }
  PALIMPSEST_SYNC_POINT("test.gone");
  EXPECT_EQ(runs, 0);
}

TEST(SyncPoint, HookMayReachAnotherPoint) {
  const SyncHook inner("test.inner", [] {});
  const SyncHook outer("test.outer", [] { PALIMPSEST_SYNC_POINT("test.inner"); });
  PALIMPSEST_SYNC_POINT("test.outer");
  EXPECT_EQ(inner.hits(), 1U);
}

TEST(SyncPoint, BarrierStopsTheFirstThreadOnly) {
  std::atomic<int> passed{0};
  SyncBarrier barrier("test.barrier");
  std::jthread stopped([&] {
    PALIMPSEST_SYNC_POINT("test.barrier");
    passed.fetch_add(1);
  });
  barrier.wait_until_reached();
  EXPECT_EQ(passed.load(), 0);
  std::jthread([] { PALIMPSEST_SYNC_POINT("test.barrier"); }).join();
  EXPECT_EQ(passed.load(), 0) << "a second thread must not free the first";
  barrier.release();
  stopped.join();
  EXPECT_EQ(passed.load(), 1);
}

TEST(SyncPoint, ABarrierThatEndsLetsItsThreadGo) {
  std::jthread stopped;
  SyncBarrier barrier("test.ending");
  stopped = std::jthread([] { PALIMPSEST_SYNC_POINT("test.ending"); });
  barrier.wait_until_reached();
}

// Threads run hooks while hooks are set and removed; ~SyncHook must not leave one running.
TEST(SyncPoint, HooksComeAndGoUnderFire) {
  std::atomic<bool> stop{false};
  test::run_threads(6, [&](std::size_t thread) {
    if (thread >= 2) {
      while (!stop.load()) {
        PALIMPSEST_SYNC_POINT("test.fire");
      }
      return;
    }
    for (int i = 0; i < 300; ++i) {
      auto alive = std::make_unique<std::atomic<int>>(0);
      {
        const SyncHook hook("test.fire", [&] { alive->fetch_add(1); });
        std::this_thread::yield();
      }
      alive.reset();  // a hook still running would touch freed memory
    }
    if (thread == 0) {
      stop.store(true);
    }
  });
}

#else

TEST(SyncPoint, IsNothingInThisBuild) {
  PALIMPSEST_SYNC_POINT("test.any");
  GTEST_SKIP() << "built without sync points";
}

#endif

}  // namespace
}  // namespace palimpsest
