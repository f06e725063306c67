// Snapshots and the horizon: the horizon is never above a snapshot in use (I-8).
#include "versioning/snapshots.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::versioning {
namespace {

constexpr SlotId kNoHint{0};

class SnapshotsTest : public ::testing::Test {
 protected:
  [[nodiscard]] SlotId claim() { return slots_.claim(kNoHint).value(); }
  void commit() { static_cast<void>(clock_.draw(Gsn{0})); }

  Clock clock_{Gsn{100}};
  WorkerSlots slots_{8};
  Snapshots snapshots_{clock_, slots_};
};

TEST_F(SnapshotsTest, HorizonIsTheOldestInUse) {
  EXPECT_EQ(snapshots_.horizon(), Gsn{100});
  const SlotId one = claim();
  const SlotId two = claim();
  EXPECT_EQ(snapshots_.take(one), Gsn{100});
  commit();
  EXPECT_EQ(snapshots_.take(two), Gsn{101});
  commit();
  EXPECT_EQ(snapshots_.horizon(), Gsn{100});
  EXPECT_EQ(snapshots_.horizon(one), Gsn{101});
  snapshots_.drop(one);
  EXPECT_EQ(snapshots_.horizon(), Gsn{101});
  EXPECT_EQ(snapshots_.take(two), Gsn{102}) << "a newer one in its place";
  EXPECT_EQ(snapshots_.horizon(), Gsn{102});
  snapshots_.drop(two);
  commit();
  EXPECT_EQ(snapshots_.horizon(), Gsn{103}) << "no snapshot: the clock";
}

TEST_F(SnapshotsTest, ScanNamesAllInOrder) {
  Snapshots::Scan scan;
  snapshots_.scan(scan);
  EXPECT_TRUE(scan.in_use.empty());
  EXPECT_EQ(scan.clock, Gsn{100});
  const SlotId one = claim();
  const SlotId two = claim();
  snapshots_.take(two);
  commit();
  snapshots_.take(one);
  commit();
  snapshots_.scan(scan);
  EXPECT_EQ(scan.in_use, (std::vector<Gsn>{Gsn{100}, Gsn{101}}));
  EXPECT_EQ(scan.clock, Gsn{102});
  EXPECT_GT(scan.being_taken, scan.clock);
  const auto oldest = snapshots_.oldest();
  ASSERT_TRUE(oldest);
  EXPECT_EQ(oldest->slot, two);
  EXPECT_EQ(oldest->snapshot, Gsn{100});
}

TEST_F(SnapshotsTest, CancelledOneHoldsNothingBack) {
  const SlotId one = claim();
  const SlotId two = claim();
  snapshots_.take(one);
  commit();
  snapshots_.take(two);
  EXPECT_FALSE(snapshots_.cancel(one, Gsn{101})) << "it has another one";
  EXPECT_TRUE(snapshots_.cancel(one, Gsn{100}));
  EXPECT_TRUE(snapshots_.is_cancelled(one, Gsn{100}));
  EXPECT_FALSE(snapshots_.is_cancelled(two, Gsn{101}));
  EXPECT_EQ(snapshots_.horizon(), Gsn{101});
  EXPECT_EQ(snapshots_.oldest()->slot, two);
  snapshots_.drop(one);
  commit();
  EXPECT_EQ(snapshots_.take(one), Gsn{102});
  EXPECT_FALSE(snapshots_.is_cancelled(one, Gsn{102})) << "another life";
  snapshots_.drop(one);
  EXPECT_FALSE(snapshots_.cancel(one, Gsn{102})) << "it has none";
}

TEST_F(SnapshotsTest, AWriterIsStableOnceItHasEnded) {
  const SlotId reader = claim();
  const SlotId writer = claim();
  const auto stable = [&] {
    static_cast<void>(snapshots_.look(reader));
    return snapshots_.stable(reader);
  };
  EXPECT_EQ(snapshots_.stable(reader), Gsn{0}) << "nothing is known yet";
  EXPECT_EQ(stable(), Gsn{100}) << "no snapshot: the clock";
  const Gsn start = snapshots_.begin_changes(writer);
  EXPECT_EQ(start, Gsn{100});
  commit();
  EXPECT_LE(stable(), start);
  commit();
  snapshots_.end_changes(writer);
  EXPECT_LE(snapshots_.stable(reader), start) << "that was before";
  EXPECT_GT(stable(), start);
}

TEST_F(SnapshotsTest, ALookIsTakenEverySoManySnapshots) {
  const SlotId reader = claim();
  snapshots_.take(reader);
  commit();
  for (int i = 0; i < 3; ++i) {
    snapshots_.take(reader);
  }
  EXPECT_EQ(snapshots_.stable(reader), Gsn{101});
}

#ifdef PALIMPSEST_SYNC_POINTS

// A thread has read the clock and published nothing yet: a scan of the slots does not find it, and
// its start is a later reading.
TEST_F(SnapshotsTest, ALookThatComesBeforeAStartIsPublished) {
  const SlotId reader = claim();
  const SlotId writer = claim();
  Gsn start{};
  {
    const SyncHook hook("versioning.start.read", [&] {
      commit();
      snapshots_.look(reader);
    });
    start = snapshots_.begin_changes(writer);
  }
  EXPECT_EQ(snapshots_.stable(reader), Gsn{101});
  EXPECT_GE(start, snapshots_.stable(reader));
}

TEST_F(SnapshotsTest, ALookThatComesBeforeAStartIsKnown) {
  const SlotId reader = claim();
  const SlotId writer = claim();
  Gsn start{};
  {
    const SyncHook hook("versioning.start.published", [&] {
      commit();
      snapshots_.look(reader);
    });
    start = snapshots_.begin_changes(writer);
  }
  EXPECT_EQ(snapshots_.stable(reader), Gsn{100});
  EXPECT_EQ(start, Gsn{101});
}

// The transaction begins after the scan has passed its slot.
TEST_F(SnapshotsTest, AStartWhileASnapshotIsTaken) {
  const SlotId reader = claim();
  const SlotId writer = claim();
  Gsn start{};
  {
    const SyncHook hook("versioning.look.looked", [&] {
      commit();
      start = snapshots_.begin_changes(writer);
      commit();
    });
    snapshots_.look(reader);
  }
  EXPECT_GE(start, snapshots_.stable(reader));
}

// A writer begins, commits and ends after the snapshot's reading of the clock: the snapshot does
// not see it, and the writer's changes are not stable for it.
TEST_F(SnapshotsTest, AWriterThatEndsWhileASnapshotIsTakenIsNotStableForIt) {
  const SlotId reader = claim();
  const SlotId writer = claim();
  Gsn start{};
  {
    const SyncHook hook("versioning.snapshot.read", [&] {
      start = snapshots_.begin_changes(writer);
      commit();
      snapshots_.end_changes(writer);
      commit();
    });
    EXPECT_EQ(snapshots_.take(reader), Gsn{100});
  }
  EXPECT_LE(snapshots_.stable(reader), start);
}

// The horizon does not pass a thread between its reading of the clock and the publication.
TEST_F(SnapshotsTest, OneBeingTakenIsCounted) {
  const SlotId one = claim();
  std::vector<Gsn> horizons;
  std::optional<bool> cancelled;
  {
    const SyncHook hook("versioning.snapshot.read", [&] {
      commit();
      horizons.push_back(snapshots_.horizon());
      Snapshots::Scan scan;
      snapshots_.scan(scan);
      EXPECT_TRUE(scan.in_use.empty());
      EXPECT_LE(scan.being_taken, Gsn{100});
      EXPECT_LE(scan.oldest_writer, Gsn{100}) << "it may write by a snapshot that it has read";
      cancelled = snapshots_.cancel(one, Gsn{100});
    });
    EXPECT_EQ(snapshots_.take(one), Gsn{100});
  }
  EXPECT_EQ(horizons, std::vector<Gsn>{Gsn{100}});
  EXPECT_EQ(cancelled, false) << "one being taken is not cancelled";
}

TEST_F(SnapshotsTest, OneBeingTakenToReadIsNoWriter) {
  const SlotId one = claim();
  Gsn oldest_writer{};
  const SyncHook hook("versioning.snapshot.read", [&] {
    Snapshots::Scan scan;
    snapshots_.scan(scan);
    EXPECT_LE(scan.being_taken, Gsn{100});
    oldest_writer = scan.oldest_writer;
  });
  EXPECT_EQ(snapshots_.take(one, Snapshots::Use::reads), Gsn{100});
  EXPECT_GT(oldest_writer, Gsn{100});
}

// A thread cancels a snapshot, but its slot has another one by then, which was cancelled, too.
TEST_F(SnapshotsTest, ANewerCancellationIsNotTakenBack) {
  const SlotId one = claim();
  const Gsn first = snapshots_.take(one);
  Gsn second{};
  int calls = 0;
  {
    const SyncHook hook("versioning.snapshot.cancelling", [&] {
      if (++calls == 1) {
        commit();
        second = snapshots_.take(one);
        EXPECT_TRUE(snapshots_.cancel(one, second));
      }
    });
    EXPECT_TRUE(snapshots_.cancel(one, first));
  }
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(snapshots_.is_cancelled(one, second));
}

#endif

// Collectors record the largest horizon they have computed; no snapshot in use is below it.
TEST(SnapshotsStress, HorizonNeverPassesOneInUse) {
  constexpr std::size_t kUsers = 6;
  constexpr std::size_t kCollectors = 2;
  Clock clock{Gsn{1}};
  WorkerSlots slots{kUsers};
  Snapshots snapshots(clock, slots);
  std::atomic<std::uint64_t> applied{0};
  std::atomic<std::uint64_t> taken{0};
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(test::test_seconds(4));
  const auto use = [&](std::size_t user, Random& random) {
    // While other threads claim and release slots, a search may miss a free one now and then.
    std::optional<SlotId> claimed;
    while (!(claimed = slots.claim(SlotId{static_cast<std::uint32_t>(user)}))) {
      std::this_thread::yield();
    }
    const SlotId slot = *claimed;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t snapshot = raw(snapshots.take(slot));
      for (std::uint64_t look = random.below(4); look > 0; --look) {
        ASSERT_LE(applied.load(), snapshot);
        static_cast<void>(clock.draw(Gsn{0}));
      }
      ASSERT_LE(applied.load(), snapshot);
      if (random.one_in(2)) {
        snapshots.drop(slot);
      }
    }
    snapshots.drop(slot);
    slots.release(slot);
    taken.fetch_add(50);
  };
  test::run_threads(kUsers + kCollectors, [&](std::size_t thread) {
    Random random(test::seed() + thread);
    while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFatalFailure()) {
      if (thread < kUsers) {
        use(thread, random);
        continue;
      }
      const std::uint64_t horizon = raw(snapshots.horizon());
      std::uint64_t seen = applied.load();
      while (seen < horizon && !applied.compare_exchange_weak(seen, horizon)) {
      }
    }
  });
  std::cout << taken << " snapshots\n";
}

// After a reader found a start to be stable, no writer with an older start is active.
TEST(SnapshotsStress, StableWritersHaveEnded) {
  constexpr std::size_t kWriters = 4;
  constexpr std::size_t kReaders = 2;
  Clock clock{Gsn{1}};
  WorkerSlots slots{kWriters + kReaders};
  Snapshots snapshots(clock, slots);
  std::array<std::atomic<std::uint64_t>, kWriters> active{};  // the start, or 0
  std::atomic<std::uint64_t> looks{0};
  std::atomic<std::uint64_t> changes{0};
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(test::test_seconds(4));
  test::run_threads(kWriters + kReaders, [&](std::size_t thread) {
    std::optional<SlotId> claimed;
    while (!(claimed = slots.claim(SlotId{static_cast<std::uint32_t>(thread)}))) {
      std::this_thread::yield();
    }
    while (std::chrono::steady_clock::now() < until && !::testing::Test::HasFatalFailure()) {
      for (int i = 0; i < 100; ++i) {
        if (thread < kWriters) {
          active[thread] = raw(snapshots.begin_changes(*claimed));
          static_cast<void>(clock.draw(Gsn{0}));
          active[thread] = 0;
          snapshots.end_changes(*claimed);
          changes.fetch_add(1, std::memory_order_relaxed);
          continue;
        }
        snapshots.look(*claimed);
        const std::uint64_t stable = raw(snapshots.stable(*claimed));
        for (const std::atomic<std::uint64_t>& start : active) {
          const std::uint64_t of = start.load();
          ASSERT_TRUE(of == 0 || of >= stable) << of << " is active, stable is " << stable;
        }
        looks.fetch_add(1, std::memory_order_relaxed);
      }
    }
    slots.release(*claimed);
  });
  std::cout << changes << " changes, " << looks << " looks\n";
}

}  // namespace
}  // namespace palimpsest::versioning
