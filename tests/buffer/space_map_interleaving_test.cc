// A flush of the space map that meets a record between its append and its bits, at each of its
// steps; frees concurrent with the log.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/sync_point.h"
#include "tests/buffer/logged_space_fixture.h"
#include "tests/support/eventually.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::test {
namespace {

using buffer::PageRun;

class SpaceMapInterleaving : public LoggedSpaceTest {
 protected:
  /// Runs `other` while a record that takes a page is appended and its bits are not set; expects
  /// that it cannot end meanwhile.
  template <class Other>
  void while_taking(PageRun page, Other other) {
    SyncBarrier appended("buffer.space.appended");
    std::thread taker([&] { taken_ = take(page); });
    appended.wait_until_reached();
    std::atomic<bool> ended{false};
    std::atomic<bool> waits{false};
    const SyncHook parked("latch.park.marked", [&] { waits = true; });
    std::thread meeting([&] {
      other();
      ended.store(true);
    });
    EXPECT_TRUE(eventually([&] { return waits.load() || ended.load(); }));
    EXPECT_FALSE(ended.load());
    appended.release();
    taker.join();
    meeting.join();
  }

  Gsn taken_{0};
};

// The record is in the log before the checkpoint's start, so the flush must not miss it.
TEST_F(SpaceMapInterleaving, FlushDoesNotMissARecordThatWasAppendedBefore) {
  const PageRun page = allocate();
  flush_and_harden();
  ASSERT_FALSE(in_use_on_disk(page.first));
  while_taking(page, [&] { checkpoint(); });
  EXPECT_TRUE(in_use_on_disk(page.first));
  const RecoveredSpace recovered(disk_.crash(1, CrashKeeps::nothing));
  recovered.expect_as(history());
  EXPECT_TRUE(recovered.map->is_allocated(page.first));
}

// Another record has marked the stretch, so its image is copied anyway, which must not happen
// between the two halves of a record.
TEST_F(SpaceMapInterleaving, ImageHasAllOfARecordOrNothing) {
  const PageRun page = allocate();
  const PageRun other = allocate();
  take(open_.claim(), other);
  SyncBarrier copying("buffer.space.found_changed");
  std::thread flusher([&] { flush_and_harden(); });
  copying.wait_until_reached();
  while_taking(page, [&] {
    copying.release();
    flusher.join();
  });
  EXPECT_TRUE(in_use_on_disk(page.first));
  EXPECT_TRUE(in_use_on_disk(other.first));
  EXPECT_EQ(buffer::header_of(map_page()).gsn, taken_);
  EXPECT_GE(durable(), taken_);
}

// A change after the copy is not in this image but in the next.
TEST_F(SpaceMapInterleaving, RecordAfterTheCopyIsWrittenByTheNextFlush) {
  const PageRun first = allocate();
  const PageRun second = allocate();
  const Gsn before = take(first);
  {
    bool once = true;
    const SyncHook hook("buffer.writer.log_durable", [&] {
      if (once) {
        once = false;
        taken_ = take(second);
      }
    });
    flush_and_harden();
    EXPECT_FALSE(once);
  }
  EXPECT_EQ(buffer::header_of(map_page()).gsn, before);
  EXPECT_FALSE(in_use_on_disk(second.first));
  flush_and_harden();
  EXPECT_EQ(buffer::header_of(map_page()).gsn, taken_);
  EXPECT_TRUE(in_use_on_disk(second.first));
}

}  // namespace
}  // namespace palimpsest::test

#endif
