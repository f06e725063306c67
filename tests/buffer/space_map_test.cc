// The space map against a plain set of page ids: alone, reopened, and with many threads.
#include "buffer/space_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using buffer::PageFile;
using buffer::PageRun;
using buffer::PageWriter;
using buffer::SpaceMap;

constexpr buffer::PageFileOptions kSmall{
    .page_size_bytes = 4096, .ring_batches = 2, .batch_pages = 64};
constexpr std::uint64_t kFirst = 144;                        ///< the first map page of such a file
constexpr std::uint64_t kStretch = std::uint64_t{4032} * 8;  ///< pages a map page covers
constexpr std::uint64_t kStep = (1U << 20U) / 4096;          ///< pages of the smallest growth

class SpaceMapTest : public testing::Test {
 protected:
  SpaceMapTest() : device_(disk_.device()) {
    file_ = PageFile::create(*device_, "pages", kSmall);
    start();
  }

  void start() {
    writer_ = std::make_unique<PageWriter>(*file_);
    map_ = std::make_unique<SpaceMap>(*file_);
  }

  void reopen() {
    map_->flush(*writer_);
    file_->close_cleanly();
    map_.reset();
    writer_.reset();
    file_.reset();
    file_ = PageFile::open(*device_, "pages");
    start();
  }

  void expect_same(const std::set<PageId>& used) const {
    std::uint64_t map_pages = 0;
    for (std::uint64_t page = kFirst; page < file_->page_count(); ++page) {
      const PageId id{page};
      map_pages += map_->is_map_page(id) ? 1U : 0U;
      ASSERT_EQ(map_->is_allocated(id), used.contains(id) || map_->is_map_page(id)) << page;
    }
    EXPECT_EQ(map_->counts().allocated, used.size() + map_pages);
    EXPECT_EQ(map_->counts().free, file_->page_count() - kFirst - used.size() - map_pages);
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<PageFile> file_;
  std::unique_ptr<PageWriter> writer_;
  std::unique_ptr<SpaceMap> map_;
};

// It doubles, and later grows by steps.
TEST_F(SpaceMapTest, AShortFileGrowsLittle) {
  EXPECT_EQ(file_->page_count(), kFirst);
  for (std::uint64_t pages = 16; pages <= kStep; pages *= 2) {
    static_cast<void>(map_->allocate(0));
    EXPECT_EQ(file_->page_count(), kFirst + pages);
    EXPECT_EQ(map_->growth_pages(), std::min(pages, kStep));
    while (map_->counts().free != 0) {
      static_cast<void>(map_->allocate(0));
    }
  }
  static_cast<void>(map_->allocate(0));
  EXPECT_EQ(file_->page_count(), kFirst + 2 * kStep);
}

TEST_F(SpaceMapTest, HandsOutNeighboursLowestFirst) {
  map_->free(map_->allocate_extent(kStep - 1, 1).front());
  for (std::uint64_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(map_->allocate(0), PageId{kFirst + i});
  }
  EXPECT_EQ(file_->page_count(), kFirst + kStep);
  // Another stripe avoids the words of the first.
  EXPECT_GE(raw(map_->allocate(1)), kFirst + 128);
  map_->free(PageId{kFirst + 7});
  EXPECT_EQ(map_->allocate(2), PageId{kFirst + 7});
}

TEST_F(SpaceMapTest, UsesEveryPageBeforeTheFileGrows) {
  // Each stripe reserves a word of its own; the pages in those words are found before the file
  // grows.
  std::set<PageId> used;
  for (std::uint64_t i = 0; i < kStep - 1; ++i) {
    EXPECT_TRUE(used.insert(map_->allocate(i % 5 == 0 ? static_cast<std::uint32_t>(i) : 0)).second);
  }
  EXPECT_EQ(file_->page_count(), kFirst + kStep);
  static_cast<void>(map_->allocate(0));
  EXPECT_GT(file_->page_count(), kFirst + kStep);
}

TEST_F(SpaceMapTest, ExtentsAreContiguousAndNeverCrossMapPages) {
  const std::vector<PageRun> one = map_->allocate_extent(1000, 1);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0], (PageRun{PageId{kFirst + 1}, 1000}));
  // Too long for the rest of the first stretch.
  const std::vector<PageRun> next = map_->allocate_extent(kStretch - 1, 1);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].first, PageId{kFirst + kStretch + 1});
  const std::vector<PageRun> three = map_->allocate_extent(2 * kStretch, 3);
  EXPECT_LE(three.size(), 3U);
  std::uint64_t pages = 0;
  for (const PageRun& run : three) {
    pages += run.pages;
    EXPECT_EQ((raw(run.first) - kFirst) / kStretch,
              (raw(run.first) + run.pages - 1 - kFirst) / kStretch);
    EXPECT_FALSE(map_->is_map_page(run.first));
  }
  EXPECT_EQ(pages, 2 * kStretch);
  map_->free(next[0]);
  EXPECT_EQ(map_->allocate_extent(kStretch - 1, 1), next) << "free pages before growth";
  EXPECT_THROW(static_cast<void>(map_->allocate_extent(kStretch, 1)), Error);
  EXPECT_THROW(static_cast<void>(map_->allocate_extent(0, 1)), Error);
}

// Otherwise a build that takes one after the other would leave some free each time.
TEST_F(SpaceMapTest, ExtentsGoOnWhereTheFreeTailBegins) {
  std::uint64_t next = kFirst + 1;
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t stretch_end = kFirst + (next - kFirst) / kStretch * kStretch + kStretch;
    if (next + 100 > stretch_end) {
      next = stretch_end + 1;  // a map page lies in between
    }
    EXPECT_EQ(map_->allocate_extent(100, 1), (std::vector<PageRun>{{PageId{next}, 100}}));
    next += 100;
  }
  EXPECT_LT(map_->counts().free, kStep + 100);
}

TEST_F(SpaceMapTest, AFileGrowsByWhatWillBeTakenBesides) {
  static_cast<void>(map_->allocate_extent(kStep, 1, 5 * kStep));
  const std::uint64_t pages = file_->page_count();
  EXPECT_EQ(pages, kFirst + 1 + 6 * kStep);
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(map_->allocate_extent(kStep, 1));
  }
  EXPECT_EQ(file_->page_count(), pages);
  // On a full disk it grows only by the minimum.
  disk_.inject({.error = ENOSPC, .kinds = static_cast<unsigned>(SimKind::allocate)});
  static_cast<void>(map_->allocate_extent(10, 1, 5 * kStep));
  EXPECT_EQ(file_->page_count(), pages + 10);
}

// No part of it stays allocated.
TEST_F(SpaceMapTest, AnExtentThatThereIsNoSpaceForLeavesTheTailFree) {
  const PageRun run = map_->allocate_extent(kStep - 20, 1, 20).front();
  const SpaceMap::Counts before = map_->counts();
  ASSERT_GT(before.free, 10U);
  disk_.inject(
      {.error = ENOSPC, .kinds = static_cast<unsigned>(SimKind::allocate), .for_good = true});
  EXPECT_EQ(error_of([&] { static_cast<void>(map_->allocate_extent(100, 1)); }),
            ErrorCode::no_space);
  disk_.clear_faults();
  EXPECT_EQ(map_->counts().free, before.free);
  EXPECT_EQ(map_->allocate_extent(100, 1).front().first, PageId{raw(run.first) + run.pages});
}

TEST_F(SpaceMapTest, ExtentsUseTheLongestHoles) {
  const PageRun whole = map_->allocate_extent(kStep - 1, 1)[0];  // all of the first growth
  const std::uint64_t first = raw(whole.first);
  map_->free(PageRun{PageId{first + 10}, 4});
  map_->free(PageRun{PageId{first + 62}, 5});  // across a word
  map_->free(PageRun{PageId{first + 100}, 3});
  const std::vector<PageRun> runs = map_->allocate_extent(8, 2);
  EXPECT_EQ(runs, (std::vector<PageRun>{{PageId{first + 62}, 5}, {PageId{first + 10}, 3}}));
  EXPECT_EQ(file_->page_count(), kFirst + kStep);
  EXPECT_EQ(map_->allocate_extent(5, 1)[0].first, PageId{kFirst + kStep}) << "too few in one run";
}

TEST_F(SpaceMapTest, FreeTailIsCutOff) {
  const PageRun far = map_->allocate_extent(2 * kStretch, 3).back();
  std::vector<PageId> pages;
  pages.reserve(10);
  for (int i = 0; i < 10; ++i) {
    pages.push_back(map_->allocate(0));
  }
  static_cast<void>(far);
  EXPECT_GT(file_->page_count(), 2 * kStretch);
  // Free all but the ten pages.
  for (std::uint64_t page = kFirst; page < file_->page_count(); ++page) {
    const PageId id{page};
    if (map_->is_allocated(id) && !map_->is_map_page(id) &&
        std::find(pages.begin(), pages.end(), id) == pages.end()) {
      map_->free(id);
    }
  }
  const std::uint64_t before = file_->page_count();
  const PageId last = *std::max_element(pages.begin(), pages.end());
  const std::uint64_t cut = map_->truncate_free_tail();
  EXPECT_EQ(file_->page_count(), raw(last) + 1);
  EXPECT_EQ(before - cut, file_->page_count());
  EXPECT_EQ(disk_.contents("pages").size(), file_->page_count() * 4096);
  EXPECT_EQ(map_->truncate_free_tail(), 0U);
  reopen();
  for (const PageId id : pages) {
    map_->free(id);
  }
  map_->truncate_free_tail();
  EXPECT_EQ(file_->page_count(), kFirst + 1) << "the first map page stays";
  EXPECT_EQ(map_->allocate(0), PageId{kFirst + 1});
  reopen();
  expect_same({PageId{kFirst + 1}});
}

TEST_F(SpaceMapTest, RandomOperationsAgainstASet) {
  Random random(seed());
  std::set<PageId> used;
  std::vector<PageRun> extents;
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t dice = random.below(100);
    if (dice < 50) {
      ASSERT_TRUE(used.insert(map_->allocate(static_cast<std::uint32_t>(random.below(6)))).second);
    } else if (dice < 55) {
      const auto pages = static_cast<std::uint32_t>(random.between(1, 200));
      const auto max_runs = static_cast<std::uint32_t>(random.between(1, 4));
      std::uint32_t total = 0;
      const std::vector<PageRun> runs = map_->allocate_extent(pages, max_runs);
      ASSERT_LE(runs.size(), max_runs);
      for (const PageRun& run : runs) {
        total += run.pages;
        extents.push_back(run);
        for (std::uint32_t page = 0; page < run.pages; ++page) {
          ASSERT_TRUE(used.insert(PageId{raw(run.first) + page}).second);
        }
      }
      ASSERT_EQ(total, pages);
    } else if (dice < 60 && !extents.empty()) {
      const PageRun run = extents.back();
      extents.pop_back();
      map_->free(run);
      for (std::uint32_t page = 0; page < run.pages; ++page) {
        used.erase(PageId{raw(run.first) + page});
      }
    } else if (dice < 98 && !used.empty()) {
      const auto victim =
          used.lower_bound(PageId{kFirst + random.below(file_->page_count() - kFirst)});
      if (victim != used.end() && std::none_of(extents.begin(), extents.end(), [&](PageRun run) {
            return *victim >= run.first && raw(*victim) < raw(run.first) + run.pages;
          })) {
        map_->free(*victim);
        used.erase(victim);
      }
    } else if (dice < 99) {
      map_->truncate_free_tail();
    } else {
      reopen();
      expect_same(used);
    }
  }
  expect_same(used);
}

TEST_F(SpaceMapTest, UnflushedChangesAreWrittenByTheNextFlush) {
  const PageId first = map_->allocate(0);
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write)});
  EXPECT_THROW(map_->flush(*writer_), Error);
  map_->flush(*writer_);
  const std::uint64_t batches = writer_->statistics().batches;
  map_->flush(*writer_);
  EXPECT_EQ(writer_->statistics().batches, batches) << "nothing changed";
  reopen();
  EXPECT_TRUE(map_->is_allocated(first));
}

// A page is freed twice, or was free on disk although in use: the rest of the map cannot be trusted
// either.
TEST_F(SpaceMapTest, FreeingAFreePageFailsTheFile) {
  const PageId page = map_->allocate(0);
  map_->free(page);
  EXPECT_FALSE(file_->failed());
  map_->free(PageRun{page, 1});
  EXPECT_TRUE(file_->failed());
  try {
    map_->flush(*writer_);
    ADD_FAILURE() << "a wrong map is not written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::failed);
    EXPECT_NE(std::string(error.what()).find(file_->name()), std::string::npos) << error.what();
  }
}

// As above: all but one of the pages are in use.
TEST_F(SpaceMapTest, FreeingARunOfWhichAPageIsFreeFailsTheFile) {
  const PageRun run = map_->allocate_extent(200, 1).front();
  map_->free(PageId{raw(run.first) + 130});
  map_->free(run);
  EXPECT_TRUE(file_->failed());
  for (std::uint64_t i = 0; i < run.pages; ++i) {
    EXPECT_FALSE(map_->is_allocated(PageId{raw(run.first) + i}));
  }
}

/// Threads allocate, free, take extents; one cuts the tail and flushes. No page has two owners at a
/// time, and the map agrees with the owners in the end, on disk too.
TEST_F(SpaceMapTest, NoPageIsHandedOutTwice) {
  constexpr std::size_t kThreads = 8;
  constexpr int kOperations = 3000;
  constexpr std::uint64_t kPagesMax = 1U << 17U;
  std::vector<std::atomic<bool>> owned(kPagesMax);
  std::vector<std::vector<PageId>> mine(kThreads);
  std::atomic<std::uint64_t> collisions{0};
  const std::uint64_t random_seed = seed();
  const auto take = [&](std::size_t thread, PageId id) {
    if (raw(id) >= kPagesMax || owned[raw(id)].exchange(true)) {
      collisions.fetch_add(1);
    }
    mine[thread].push_back(id);
  };
  run_threads(kThreads, [&](std::size_t thread) {
    Random random(random_seed + thread);
    for (int i = 0; i < kOperations; ++i) {
      const std::uint64_t dice = random.below(1000);
      std::vector<PageId>& pages = mine[thread];
      if (dice < 520) {
        take(thread, map_->allocate(static_cast<std::uint32_t>(thread)));
      } else if (dice < 530) {
        for (const PageRun& run : map_->allocate_extent(20, 4)) {
          for (std::uint32_t page = 0; page < run.pages; ++page) {
            take(thread, PageId{raw(run.first) + page});
          }
        }
      } else if (dice < 535 && thread == 0) {
        map_->truncate_free_tail();
      } else if (dice < 540 && thread == 1) {
        map_->flush(*writer_);
      } else if (!pages.empty()) {
        std::swap(pages[random.below(pages.size())], pages.back());
        owned[raw(pages.back())].store(false);
        map_->free(pages.back());
        pages.pop_back();
      }
    }
  });
  EXPECT_EQ(collisions.load(), 0U);
  std::set<PageId> used;
  for (const std::vector<PageId>& pages : mine) {
    used.insert(pages.begin(), pages.end());
  }
  expect_same(used);
  reopen();
  expect_same(used);
}

}  // namespace
}  // namespace palimpsest::test
