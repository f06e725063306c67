// Threads stopped in the middle of a page fault while other threads change the tree.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "buffer/page_loader.h"
#include "tests/buffer/interleaving_support.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::buffer {
namespace {

constexpr std::uint64_t kRecord = 500;

class PageLoaderInterleaving : public palimpsest::test::InterleavingTest {
 protected:
  /// Reads the record in a thread that stops at a sync point; `meanwhile` runs during the stop.
  template <class Meanwhile>
  std::string value_read_around(std::string_view sync_point, Meanwhile meanwhile) {
    evict(kRecord);
    std::string value;
    SyncBarrier barrier(sync_point);
    std::thread reader([&] { value = value_of(kRecord); });
    barrier.wait_until_reached();
    meanwhile();
    barrier.release();
    reader.join();
    return value;
  }

  /// A thread has read the swip, and found no entry, when another one loads and attaches the page;
  /// the first one goes on in the middle of that, as far as it can. Then the page is changed.
  /// `attach(updater)` lets the updater reach the point where it attaches the page, and stop.
  template <class Attach>
  void expect_loaded_once(Attach attach) {
    if (kOptimisticTakesShared) {
      GTEST_SKIP() << "the stopped thread would hold the parent's latch";
    }
    evict(kRecord);
    SyncBarrier entering("buffer.fault.swip_read");
    std::thread late([&] { static_cast<void>(value_of(kRecord)); });
    entering.wait_until_reached();
    SyncBarrier attaching("buffer.attach.storing");
    std::thread updater;
    attach(updater);
    attaching.wait_until_reached();

    // It finds the entry and waits, or sees the swip unchanged: then it goes no further before the
    // page is attached and changed.
    std::atomic<bool> came_far = false;
    std::atomic<bool> goes_on = false;
    const auto tell = [&] {
      came_far = true;
      came_far.notify_all();
    };
    const SyncHook waits("latch.park.marked", tell);
    const SyncHook looks("buffer.fault.swip_seen", [&] {
      tell();
      goes_on.wait(false);
    });
    entering.release();
    came_far.wait(false);
    attaching.release();
    updater.join();
    goes_on = true;
    goes_on.notify_all();
    late.join();
    EXPECT_EQ(value_of(kRecord), new_value(kRecord));
    EXPECT_TRUE(palimpsest::test::sound(*database_));
  }
  void update() { EXPECT_TRUE(tree().update(key_of(kRecord), new_value(kRecord))); }
};

// The swip was read while the page was not in memory; before the fault is entered in the table,
// another thread loads the page and changes it. Without the second look at the swip the page would
// be loaded twice, and the old image would replace the new one.
TEST_F(PageLoaderInterleaving, SwipReadBeforeAnotherThreadLoadsAndChanges) {
  if (kOptimisticTakesShared) {
    GTEST_SKIP() << "the stopped thread would hold the parent's latch";
  }
  const std::string value = value_read_around("buffer.fault.swip_read", [&] {
    ASSERT_TRUE(tree().update(key_of(kRecord), new_value(kRecord)));
    ASSERT_TRUE(resident(kRecord));
  });
  EXPECT_EQ(value, new_value(kRecord));
  EXPECT_EQ(value_of(kRecord), new_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// The same, and the page has left memory again when the first thread goes on.
TEST_F(PageLoaderInterleaving, SwipReadBeforeAnotherThreadLoadsChangesAndEvicts) {
  if (kOptimisticTakesShared) {
    GTEST_SKIP() << "the stopped thread would hold the parent's latch";
  }
  const std::string value = value_read_around("buffer.fault.swip_read", [&] {
    ASSERT_TRUE(tree().update(key_of(kRecord), new_value(kRecord)));
    ASSERT_NO_FATAL_FAILURE(evict(kRecord));
  });
  EXPECT_EQ(value, new_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// The second look at the swip happens while another thread attaches the page, which does not change
// the parent's version: so the page's entry must still be there. Without it the page would be
// loaded a second time, and the changes in the first frame lost.
TEST_F(PageLoaderInterleaving, SwipIsLookedAtWhileAnotherThreadAttaches) {
  expect_loaded_once([&](std::thread& updater) { updater = std::thread([&] { update(); }); });
}

// The same with a page that waits to be attached: the parent was latched when it was loaded.
TEST_F(PageLoaderInterleaving, SwipIsLookedAtWhileAReadyPageIsAttached) {
  expect_loaded_once([&](std::thread& updater) {
    SyncBarrier entered("buffer.fault.entered");
    updater = std::thread([&] { update(); });
    entered.wait_until_reached();
    std::atomic<bool> waits = false;
    const SyncHook park("latch.park.marked", [&] {
      waits = true;
      waits.notify_all();
    });
    const auto parent = tree().descent().node<SharedPage>(btree::Target{key_of(kRecord)}, 1);
    entered.release();
    waits.wait(false);  // for the parent, to attach the page, which is ready
  });
}

// The thread that has loaded a page that waits to be attached still holds the frame: a thread that
// wants to attach the page waits for that, and does not block the parent meanwhile.
TEST_F(PageLoaderInterleaving, AReadyPageThatIsHeldIsWaitedForWithoutItsParent) {
  evict(kRecord);
  std::string of_first;
  std::string of_second;
  SyncBarrier entered("buffer.fault.entered");
  SyncBarrier ready("buffer.attach.ready");
  std::thread first([&] { of_first = value_of(kRecord); });
  entered.wait_until_reached();
  Frame* parent = nullptr;
  {
    const auto held = tree().descent().node<SharedPage>(btree::Target{key_of(kRecord)}, 1);
    parent = &held.frame();
    entered.release();
    ready.wait_until_reached();
  }
  std::atomic<bool> waits = false;
  const SyncHook park("latch.park.marked", [&] {
    waits = true;
    waits.notify_all();
  });
  std::thread second([&] { of_second = value_of(kRecord); });
  waits.wait(false);
  const bool is_free = parent->latch.try_lock_exclusive();
  EXPECT_TRUE(is_free);
  if (is_free) {
    parent->latch.unlock_exclusive_unchanged();
  }
  ready.release();
  first.join();
  second.join();
  EXPECT_EQ(of_first, old_value(kRecord));
  EXPECT_EQ(of_second, old_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// The parent is split while the page is read: the loader must not touch the swip's old slot, and
// the next reader of the swip in its new node attaches the page.
TEST_F(PageLoaderInterleaving, ParentSplitsDuringTheRead) {
  ASSERT_EQ(tree().descent().root_level(), 1U);
  const std::string value = value_read_around("buffer.fault.entered", [&] {
    for (std::uint64_t i = 0; i < 3000; ++i) {  // into other leaves of the same inner node
      ASSERT_TRUE(tree().insert(key_of(200 + i % 90) + std::to_string(i), std::string(600, 'x')));
    }
  });
  EXPECT_EQ(value, old_value(kRecord));
  EXPECT_EQ(tree().descent().root_level(), 2U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// Two threads fault on one page: it is read once, and the second waits for the first.
TEST_F(PageLoaderInterleaving, SecondFaultWaitsForTheFirst) {
  std::string other;
  std::thread second;
  const std::string value = value_read_around(
      "buffer.fault.entered", [&] { second = std::thread([&] { other = value_of(kRecord); }); });
  second.join();
  EXPECT_EQ(value, old_value(kRecord));
  EXPECT_EQ(other, old_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A read error goes to the reader only; the frame is free again and the next reader retries.
TEST_F(PageLoaderInterleaving, FailedReadLeavesNothingBehind) {
  evict(kRecord);
  disk_.inject({.error = EIO, .kinds = unsigned(palimpsest::test::SimKind::read), .nth = 1});
  EXPECT_THROW(static_cast<void>(value_of(kRecord)), Error);
  EXPECT_EQ(value_of(kRecord), old_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A thread that waits for a load that fails retries by itself, and gets the error too.
TEST_F(PageLoaderInterleaving, AFailedReadIsReportedToAllWaitingThreads) {
  evict(kRecord);
  disk_.inject(
      {.error = EIO, .kinds = unsigned(palimpsest::test::SimKind::read), .for_good = true});
  std::atomic<bool> parked = false;
  const SyncHook park("latch.park.marked", [&] {
    parked = true;
    parked.notify_all();
  });
  SyncBarrier entered("buffer.fault.entered");
  std::thread first([&] { EXPECT_THROW(static_cast<void>(value_of(kRecord)), Error); });
  entered.wait_until_reached();
  std::thread second([&] { EXPECT_THROW(static_cast<void>(value_of(kRecord)), Error); });
  parked.wait(false);
  entered.release();
  first.join();
  second.join();
  disk_.clear_faults();
  EXPECT_EQ(value_of(kRecord), old_value(kRecord));
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

}  // namespace
}  // namespace palimpsest::buffer

#endif
