// Writes that bypass the log while a watcher exists: they are marked after the write, the watcher
// takes the marks in runs, and its pause blocks them.
#include "buffer/unlogged_writes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

void write(UnloggedWrites& writes, std::uint64_t page, std::uint32_t pages = 1) {
  std::vector<PageImage> images;
  images.reserve(pages);
  for (std::uint32_t i = 0; i < pages; ++i) {
    images.push_back({.id = PageId{page + i}, .bytes = {}});
  }
  const UnloggedWrites::Write one(writes, images);
}

/// Takes all marks, in runs of at most `most`.
std::vector<PageRun> take_all(UnloggedWrites& writes, std::uint32_t most) {
  std::vector<PageRun> runs;
  PageId from{0};
  while (const auto run = writes.take(from, most)) {
    runs.push_back(*run);
    from = PageId{raw(run->first) + run->pages};
  }
  return runs;
}

TEST(UnloggedWrites, NothingIsMarkedUnlessItIsWatched) {
  UnloggedWrites writes;
  write(writes, 7);
  writes.watch();
  EXPECT_EQ(writes.count(), 0U);
  write(writes, 7);
  EXPECT_EQ(writes.count(), 1U);
  writes.forget();
  write(writes, 8);
  EXPECT_EQ(writes.count(), 0U);
  EXPECT_FALSE(writes.take(PageId{0}, 10));
}

TEST(UnloggedWrites, MarksAreTakenInRuns) {
  UnloggedWrites writes;
  writes.watch();
  write(writes, 60, 10);  // across the end of a word
  write(writes, 200);
  write(writes, 202);
  write(writes, 64, 3);  // again
  EXPECT_EQ(writes.count(), 12U);
  EXPECT_EQ(
      take_all(writes, 4),
      (std::vector<PageRun>{
          {PageId{60}, 4}, {PageId{64}, 4}, {PageId{68}, 2}, {PageId{200}, 1}, {PageId{202}, 1}}));
  EXPECT_EQ(writes.count(), 0U);
  write(writes, 61);
  EXPECT_EQ(take_all(writes, 4), (std::vector<PageRun>{{PageId{61}, 1}}));
}

TEST(UnloggedWrites, WhatIsTakenFromTheMiddleOnLeavesWhatIsBefore) {
  UnloggedWrites writes;
  writes.watch();
  write(writes, 100, 100);
  const auto run = writes.take(PageId{150}, 1'000);
  EXPECT_EQ(run, (PageRun{PageId{150}, 50}));
  EXPECT_EQ(take_all(writes, 1'000), (std::vector<PageRun>{{PageId{100}, 50}}));
}

TEST(UnloggedWrites, TakesWhatASetWould) {
  Random random(test::seed());
  UnloggedWrites writes;
  writes.watch();
  std::set<std::uint64_t> marked;
  for (test::Rounds rounds(200); rounds.next();) {
    for (auto count = random.below(20); count != 0; --count) {
      const std::uint64_t page = random.below(2'000);
      const auto pages = static_cast<std::uint32_t>(1 + random.below(70));
      write(writes, page, pages);
      for (std::uint32_t i = 0; i < pages; ++i) {
        marked.insert(page + i);
      }
    }
    EXPECT_EQ(writes.count(), marked.size());
    const std::uint64_t from = random.below(2'100);
    const auto most = static_cast<std::uint32_t>(1 + random.below(100));
    const auto run = writes.take(PageId{from}, most);
    const auto first = marked.lower_bound(from);
    ASSERT_EQ(run.has_value(), first != marked.end());
    if (run) {
      ASSERT_EQ(raw(run->first), *first);
      for (std::uint32_t i = 0; i < run->pages; ++i) {
        ASSERT_EQ(marked.erase(raw(run->first) + i), 1U);
      }
      ASSERT_TRUE(run->pages == most || !marked.contains(raw(run->first) + run->pages));
    }
  }
}

// Each write of a page raises its number; the thread that takes its mark must see the last one.
TEST(UnloggedWrites, WhatIsWrittenIsTakenAfterwards) {
  constexpr std::size_t kPages = 100;
  constexpr std::size_t kWriters = 3;
  UnloggedWrites writes;
  std::vector<std::atomic<std::uint64_t>> written(kPages * kWriters);
  std::vector<std::uint64_t> copied(written.size());
  std::atomic<int> under_way{0};
  std::atomic<bool> ends{false};
  writes.watch();
  test::run_threads(kWriters + 1, [&](std::size_t thread) {
    if (thread < kWriters) {
      Random random(test::seed());
      while (!ends.load()) {
        const std::uint64_t page = thread * kPages + random.below(kPages);
        const PageImage image{.id = PageId{page}, .bytes = {}};
        const UnloggedWrites::Write one(writes, {&image, 1});
        under_way.fetch_add(1);
        written[page].fetch_add(1);
        under_way.fetch_sub(1);
      }
      return;
    }
    const auto copy = [&] {
      for (const PageRun& run : take_all(writes, 8)) {
        for (std::uint32_t i = 0; i < run.pages; ++i) {
          copied[raw(run.first) + i] = written[raw(run.first) + i].load();
        }
      }
    };
    for (test::Rounds rounds(20); rounds.next();) {
      copy();
      const UnloggedWrites::Pause pause(writes);
      EXPECT_EQ(under_way.load(), 0);
      copy();
      for (std::size_t page = 0; page < copied.size(); ++page) {
        EXPECT_EQ(copied[page], written[page].load()) << page;
      }
    }
    ends.store(true);
  });
}

}  // namespace
}  // namespace palimpsest::buffer
