// The space map with a log: images agree with durable records, freed pages wait for theirs, and
// images and log together recover the map, wherever the power fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/buffer/logged_space_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using buffer::PageRun;
using buffer::RecoveredRun;
using buffer::SpaceMap;

class SpaceMapLog : public LoggedSpaceTest {};

TEST_F(SpaceMapLog, WritesWhatTheLogSaysAndNotWhatIsClaimed) {
  const PageRun claimed = allocate();
  const PageRun logged = allocate();
  const Gsn gsn = take(logged);
  EXPECT_LT(durable(), gsn);
  EXPECT_TRUE(map_->is_allocated(claimed.first));
  EXPECT_FALSE(map_->is_logged(claimed.first));
  EXPECT_TRUE(map_->is_logged(logged.first));
  flush_and_harden();
  EXPECT_GE(durable(), gsn) << "the log first";
  EXPECT_FALSE(in_use_on_disk(claimed.first));
  EXPECT_TRUE(in_use_on_disk(logged.first));
  EXPECT_EQ(buffer::header_of(map_page()).gsn, gsn);
  EXPECT_EQ(map_->newest_gsn(), gsn);
  const std::uint64_t batches = writer_->statistics().batches;
  map_->free(claimed);
  map_->flush(*writer_);
  EXPECT_EQ(writer_->statistics().batches, batches) << "claims are not written";
  EXPECT_FALSE(file_->failed());
}

TEST_F(SpaceMapLog, GsnOfAnImageNeverFalls) {
  const PageRun page = allocate();
  take(page);
  const Gsn gsn = give_back(page);
  flush_and_harden();
  EXPECT_EQ(buffer::header_of(map_page()).gsn, gsn);
  file_->close_cleanly();
  map_.reset();
  writer_.reset();
  file_.reset();
  file_ = buffer::PageFile::open(*device_, "pages");
  SpaceMap unlogged(*file_);
  EXPECT_EQ(unlogged.newest_gsn(), gsn);
  buffer::PageWriter writer(*file_);
  static_cast<void>(unlogged.allocate(0));
  unlogged.flush(writer);
  EXPECT_EQ(buffer::header_of(map_page()).gsn, gsn) << "without a log too";
}

TEST_F(SpaceMapLog, FreedPageWaitsForItsRecord) {
  const PageRun page = allocate();
  make_durable(take(page));
  const Gsn freed = give_back(page);
  EXPECT_LT(durable(), freed);
  EXPECT_TRUE(map_->is_allocated(page.first));
  EXPECT_FALSE(map_->is_logged(page.first));
  for (int i = 0; i < 600; ++i) {  // the file grows rather than reuse one
    EXPECT_NE(map_->allocate(0), page.first);
  }
  make_durable(freed);
  map_->complete_frees();
  EXPECT_FALSE(map_->is_allocated(page.first));
  const PageRun again = allocate(7);
  EXPECT_EQ(again.first, page.first) << "lowest first";
  EXPECT_GT(take(open_.claim(), again), freed);
  EXPECT_FALSE(file_->failed());
}

TEST_F(SpaceMapLog, GivenBackAtOnceWhatIsDurableOrWasNeverLogged) {
  const PageRun page = allocate();
  make_durable(take(page));
  const Gsn freed = give(slot_, page);
  make_durable(freed);
  map_->free_when_durable(page, freed);
  EXPECT_FALSE(map_->is_allocated(page.first));
  const PageRun unused = allocate();
  map_->free_when_durable(unused, Gsn{0});
  EXPECT_FALSE(map_->is_allocated(unused.first));
}

TEST_F(SpaceMapLog, ManyFreesAreCompletedByLaterOnes) {
  std::vector<PageRun> pages(300);
  for (PageRun& page : pages) {
    page = allocate();
    take(page);
  }
  for (std::size_t i = 0; i < 200; ++i) {
    give_back(pages[i]);
  }
  make_durable(give_back(pages[200]));
  for (std::size_t i = 201; i < 300; ++i) {
    give_back(pages[i]);
  }
  EXPECT_FALSE(map_->is_allocated(pages[0].first)) << "looked at by the way";
  EXPECT_TRUE(map_->is_allocated(pages[299].first));
  EXPECT_FALSE(file_->failed());
}

TEST_F(SpaceMapLog, FullDeviceWaitsForTheLogBeforeItSaysNoSpace) {
  map_->free(map_->allocate_extent(100, 1).front());  // makes the file this long
  std::vector<PageRun> pages;
  const std::uint64_t end = (pages.push_back(allocate()), file_->page_count());
  disk_.inject({.error = ENOSPC,
                .kinds = static_cast<unsigned>(SimKind::allocate),
                .file = "pages",
                .for_good = true});
  while (pages.size() < end - raw(file_->first_page()) - 1) {
    pages.push_back(allocate());
  }
  EXPECT_EQ(error_of([&] { return map_->allocate(0); }), ErrorCode::no_space);
  for (const PageRun& page : pages) {
    take(page);
  }
  const Gsn freed = give_back(pages[5]);
  EXPECT_LT(durable(), freed);
  EXPECT_EQ(map_->allocate(0), pages[5].first);
  EXPECT_GE(durable(), freed);
  EXPECT_EQ(error_of([&] { return map_->allocate(0); }), ErrorCode::no_space);
  for (std::size_t i = 20; i < 30; ++i) {
    give_back(pages[i]);
  }
  const std::vector<PageRun> extent = map_->allocate_extent(10, 1);
  ASSERT_EQ(extent.size(), 1U);
  EXPECT_EQ(extent[0], (PageRun{pages[20].first, 10}));
  EXPECT_EQ(error_of([&] { return map_->allocate_extent(2, 1); }), ErrorCode::no_space);
}

TEST_F(SpaceMapLog, TailIsCutOffOnlyWhereTheLogSaysFree) {
  const PageRun far = map_->allocate_extent(5000, 1)[0];
  make_durable(take(far));
  EXPECT_LT(map_->truncate_free_tail(), 5000U);
  const std::uint64_t end = file_->page_count();
  const Gsn freed = give_back(far);
  EXPECT_EQ(map_->truncate_free_tail(), 0U) << "the record is not durable";
  make_durable(freed);
  EXPECT_EQ(map_->truncate_free_tail(), end - raw(far.first));
  // A claim is lost although the log has the page as used: the page must not be cut off.
  const PageRun wrong = map_->allocate_extent(300, 1)[0];
  make_durable(take(wrong));
  map_->free(PageRun{PageId{raw(wrong.first) + 200}, 100});
  map_->truncate_free_tail();
  EXPECT_GE(file_->page_count(), raw(wrong.first) + 300);
}

TEST_F(SpaceMapLog, RecordThatContradictsTheMapFailsTheFile) {
  const PageRun page = allocate();
  take(page);
  EXPECT_FALSE(file_->failed());
  take(page);
  EXPECT_TRUE(file_->failed());
}

TEST_F(SpaceMapLog, GivingBackAFreePageFailsTheFile) {
  const PageRun page = allocate();
  give(slot_, page);
  EXPECT_TRUE(file_->failed());
}

TEST_F(SpaceMapLog, FailedLogLetsNoImageBeWritten) {
  flush_and_harden();
  const std::vector<std::byte> before = disk_.contents("pages");
  const PageRun page = allocate();
  const std::vector<std::byte> grown = disk_.contents("pages");
  take(page);
  open_.log().fail("the test says so");
  EXPECT_EQ(error_of([&] { map_->flush(*writer_); }, "the test says so"), ErrorCode::failed);
  EXPECT_EQ(disk_.contents("pages"), grown);
  EXPECT_EQ(error_of([&] { map_->flush(*writer_); }), ErrorCode::failed) << "still to be written";
  EXPECT_FALSE(file_->failed());
}

// Growth is not in the log, and an image may be older or newer than the replayed records.
TEST_F(SpaceMapLog, RecoverGrowsTheFileAndSetsWhatIsSaid) {
  map_.reset();
  SpaceMap map(*file_);
  const std::uint64_t first = raw(file_->first_page());
  const std::uint64_t stretch = map.stretch_pages();
  const std::uint64_t far = first + 2 * stretch + 100;
  const PageId taken = map.allocate(0);
  map.recover(std::vector<RecoveredRun>{{{PageId{far}, 50}, true},
                                        {{PageId{first + 3}, 2}, true},
                                        {{taken, 1}, false},
                                        {{PageId{far + 1'000'000}, 10}, false}});
  EXPECT_GE(file_->page_count(), far + 50);
  EXPECT_LT(file_->page_count(), far + 1'000'000) << "free pages need no file";
  EXPECT_TRUE(map.is_allocated(PageId{far}));
  EXPECT_TRUE(map.is_allocated(PageId{far + 49}));
  EXPECT_FALSE(map.is_allocated(PageId{far + 50}));
  EXPECT_TRUE(map.is_allocated(PageId{first + 4}));
  EXPECT_FALSE(map.is_allocated(taken));
  EXPECT_EQ(map.counts().allocated, 52U + 3U) << "and three map pages";
  map.log_with(open_.log());
  EXPECT_TRUE(map.is_logged(PageId{far}));
  EXPECT_FALSE(map.is_logged(PageId{far + 50}));
  EXPECT_FALSE(map.is_logged(taken));
  map.flush(*writer_);
  file_->close_cleanly();
  file_.reset();
  file_ = buffer::PageFile::open(*device_, "pages");
  const SpaceMap again(*file_);
  EXPECT_EQ(again.counts().allocated, 55U);
  EXPECT_TRUE(again.is_allocated(PageId{far + 49}));
}

// An image may show the change and not be durable: the sync after its write has failed.
TEST_F(SpaceMapLog, WhatTheLogSaysIsWrittenThoughTheImageSaysItToo) {
  const PageRun logged = allocate();
  take(logged);
  flush_and_harden();
  map_.reset();
  SpaceMap map(*file_);
  map.recover(std::vector<RecoveredRun>{{logged, true}});
  map.log_with(open_.log());
  const std::uint64_t batches = writer_->statistics().batches;
  map.flush(*writer_);
  EXPECT_EQ(writer_->statistics().batches, batches + 1);
}

TEST_F(SpaceMapLog, RecoverRefusesWhatCannotBe) {
  map_.reset();
  SpaceMap map(*file_);
  const std::uint64_t first = raw(file_->first_page());
  const std::uint64_t stretch = map.stretch_pages();
  const std::uint64_t end = file_->page_count();
  const auto refusal = [&](PageRun run, bool in_use) {
    std::string message;
    const std::vector<RecoveredRun> runs{{{PageId{first + 9}, 1}, true}, {run, in_use}};
    EXPECT_EQ(error_of([&] { map.recover(runs); }, &message), ErrorCode::corruption);
    EXPECT_NE(message.find(std::to_string(raw(run.first))), std::string::npos) << message;
  };
  for (const bool in_use : {true, false}) {
    refusal({PageId{first}, 1}, in_use);
    refusal({PageId{first + stretch}, 1}, in_use);
    refusal({PageId{first + stretch - 1}, 2}, in_use);
    refusal({PageId{first + stretch - 1}, 3}, in_use);
    refusal({PageId{first + 1}, static_cast<std::uint32_t>(stretch)}, in_use);
    refusal({PageId{first - 1}, 1}, in_use);
    refusal({PageId{0}, 1}, in_use);
    refusal({PageId{first + 1}, 0}, in_use);
    refusal({PageId{std::uint64_t{1} << 40U}, 1}, in_use);
    refusal({PageId{UINT64_MAX}, 1}, in_use);
    refusal({PageId{first + 2}, UINT32_MAX}, in_use);
  }
  EXPECT_EQ(file_->page_count(), end);
  EXPECT_FALSE(map.is_allocated(PageId{first + 9})) << "nothing has changed";
}

// One thread, several logs, a checkpoint now and then, and a crash after every step: images and the
// records from replay's start on give the map as all records up to the cut make it.
TEST_F(SpaceMapLog, EveryCrashRecoversWhatTheLogSays) {
  Random random(seed());
  const std::vector<SlotId> slots{slot_, open_.claim(), open_.claim()};
  std::vector<std::pair<PageRun, Gsn>> mine;
  for (std::uint64_t step = 0; step < 400 && !HasFailure(); ++step) {
    const SlotId slot = slots[random.below(slots.size())];
    const std::uint64_t dice = random.below(100);
    if (dice < 50) {
      const PageRun run = dice < 45 ? allocate(raw(slot))
                                    : map_->allocate_extent(
                                          static_cast<std::uint32_t>(random.between(2, 300)), 1)[0];
      mine.emplace_back(run, take(slot, run));
    } else if (dice < 82 && !mine.empty()) {
      std::swap(mine[random.below(mine.size())], mine.back());
      give_back(slot, mine.back().first, mine.back().second);
      mine.pop_back();
    } else if (dice < 86) {
      static_cast<void>(allocate());  // reserved and never used
    } else if (dice < 90) {
      open_.log().write_pending();
    } else if (dice < 94) {
      map_->flush(*writer_);
    } else if (dice < 97) {
      checkpoint();
    } else {
      map_->truncate_free_tail();
    }
    const RecoveredSpace recovered(disk_.crash(random()));
    ASSERT_NO_FATAL_FAILURE(recovered.expect_as(history())) << "step " << step;
  }
  EXPECT_FALSE(file_->failed());
}

// The same with threads, crashed while they run; and no thread gets a page before its freeing
// record is durable.
TEST_F(SpaceMapLog, ThreadsCheckpointsAndCrashes) {
  constexpr std::size_t kThreads = 6;
  constexpr int kOperations = 400;
  constexpr std::uint64_t kPagesMax = 1U << 16U;
  const std::uint64_t random_seed = seed();
  std::vector<SlotId> slots(kThreads);
  for (SlotId& slot : slots) {
    slot = open_.claim();
  }
  std::vector<std::atomic<std::uint64_t>> freed_at(kPagesMax);
  std::atomic<std::uint64_t> too_early{0};
  std::atomic<std::size_t> running{kThreads};
  run_threads(kThreads + 1, [&](std::size_t thread) {
    Random random(random_seed + thread);
    if (thread == kThreads) {
      for (std::uint64_t round = 0; running.load() != 0; ++round) {
        checkpoint();
        if (round % 4 == 0) {
          const SimDisk crashed = disk_.crash(random());
          // The history got everything up to the cut before it was published.
          const RecoveredSpace recovered(crashed);
          recovered.expect_as(history());
        }
        map_->truncate_free_tail();
      }
      return;
    }
    std::vector<PageRun> mine;
    for (int i = 0; i < kOperations; ++i) {
      if (mine.size() < 5 || random.below(100) < 45) {
        mine.push_back(allocate(static_cast<std::uint32_t>(thread)));
        if (raw(mine.back().first) >= kPagesMax ||
            freed_at[raw(mine.back().first)].load() > raw(durable())) {
          too_early.fetch_add(1);
        }
        take(slots[thread], mine.back());
      } else {
        std::swap(mine[random.below(mine.size())], mine.back());
        const PageRun page = mine.back();
        mine.pop_back();
        const Gsn gsn = give(slots[thread], page);
        freed_at[raw(page.first)].store(raw(gsn));
        map_->free_when_durable(page, gsn);
      }
    }
    running.fetch_sub(1);
  });
  EXPECT_EQ(too_early.load(), 0U);
  EXPECT_FALSE(file_->failed());
  make_durable(open_.clock().now());
  flush_and_harden();
  const RecoveredSpace recovered(disk_.crash(random_seed));
  recovered.expect_as(history());
}

}  // namespace
}  // namespace palimpsest::test
