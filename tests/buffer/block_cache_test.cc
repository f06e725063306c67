#include "buffer/block_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

using palimpsest::test::eventually;
using palimpsest::test::run_threads;

constexpr std::uint32_t kPageSize = 4096;
constexpr std::uint32_t kLeftFree = 2;  // no block gets one of the last free frames

/// Fills a page with words that encode its id and an incarnation.
void fill(MutableBytes page, PageId id, std::uint64_t incarnation) {
  const std::uint64_t word = raw(id) << 32 | incarnation;
  for (std::size_t at = 0; at < page.size(); at += sizeof word) {
    std::memcpy(page.data() + at, &word, sizeof word);
  }
}

/// The word that fills a page; nothing if its words differ.
std::optional<std::uint64_t> word_of(std::span<const std::uint64_t> words) {
  for (const std::uint64_t word : words) {
    if (word != words.front()) {
      return std::nullopt;
    }
  }
  return words.front();
}

class BlockCacheTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kFrames = 64;

  BlockCacheTest() : frames_(kFrames, kPageSize), free_(kFrames), cache_(frames_, free_) {}

  bool keep(std::uint64_t page, std::uint64_t incarnation = 1) {
    BlockCache::Filling filling = cache_.begin(PageId{page});
    if (!filling.has_memory()) {
      return false;
    }
    fill(filling.memory(), PageId{page}, incarnation);
    filling.keep();
    return true;
  }

  /// The incarnation cached of a page; 0 if none is.
  std::uint64_t find(std::uint64_t page) {
    std::uint64_t found = 0;
    std::vector<std::uint64_t> words(kPageSize / sizeof(std::uint64_t));
    const bool is_there = cache_.read(PageId{page}, [&](const std::byte* bytes) {
      std::memcpy(words.data(), bytes, kPageSize);
      return true;
    });
    if (is_there) {
      const auto word = word_of(words);
      EXPECT_TRUE(word.has_value()) << "torn";
      EXPECT_EQ(word.value_or(0) >> 32, page);
      found = word.value_or(0) & UINT32_MAX;
    }
    return found;
  }

  /// Visits each frame, as the page reclaimer does; returns how many blocks were dropped.
  std::uint32_t visit_all() {
    std::uint32_t evicted = 0;
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      const FrameIndex frame{i};
      if (frames_[frame].state == FrameState::block && frames_[frame].is_cold_at_visit() &&
          cache_.try_evict(frame)) {
        ++evicted;
      }
    }
    return evicted;
  }

  FrameTable frames_;
  FreeFrames free_;
  BlockCache cache_;
};

TEST_F(BlockCacheTest, WhatIsKeptIsFound) {
  EXPECT_EQ(find(7), 0U);
  ASSERT_TRUE(keep(7, 3));
  ASSERT_TRUE(keep(8, 4));
  EXPECT_EQ(find(7), 3U);
  EXPECT_EQ(find(8), 4U);
  EXPECT_EQ(find(9), 0U);
  EXPECT_EQ(free_.count(), kFrames - 2);
}

TEST_F(BlockCacheTest, AStaleBlockOfThePageIsPassedOver) {
  ASSERT_TRUE(keep(7, 1));
  ASSERT_TRUE(keep(7, 2));  // used again: the first is stale
  int asked = 0;
  EXPECT_TRUE(cache_.read(PageId{7}, [&](const std::byte* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    ++asked;
    return (word & UINT32_MAX) == 2;
  }));
  EXPECT_FALSE(cache_.read(PageId{7}, [](const std::byte*) { return false; }));
  EXPECT_GE(asked, 1);
}

TEST_F(BlockCacheTest, WhatIsForgottenIsFree) {
  ASSERT_TRUE(keep(7, 1));
  ASSERT_TRUE(keep(7, 2));
  ASSERT_TRUE(keep(8));
  cache_.forget(PageId{7});
  EXPECT_EQ(find(7), 0U);
  EXPECT_EQ(find(8), 1U);
  EXPECT_EQ(free_.count(), kFrames - 1);
}

TEST_F(BlockCacheTest, AFrameThatIsNotKeptComesBack) {
  {
    const BlockCache::Filling filling = cache_.begin(PageId{7});
    EXPECT_TRUE(filling.has_memory());
    EXPECT_EQ(free_.count(), kFrames - 1);
    EXPECT_EQ(find(7), 0U);
  }
  EXPECT_EQ(free_.count(), kFrames);
}

TEST_F(BlockCacheTest, TheLastFramesAreLeft) {
  std::uint64_t page = 1;
  while (keep(page)) {
    ++page;
  }
  EXPECT_EQ(free_.count(), kLeftFree);
  EXPECT_EQ(page - 1, kFrames - kLeftFree);
}

TEST_F(BlockCacheTest, WhatIsUsedOutlastsWhatIsNot) {
  for (std::uint64_t page = 1; page <= 20; ++page) {
    ASSERT_TRUE(keep(page));
  }
  EXPECT_EQ(visit_all(), 0U);
  for (std::uint64_t page = 1; page <= 10; ++page) {
    EXPECT_EQ(find(page), 1U);
  }
  EXPECT_EQ(visit_all(), 10U);
  for (std::uint64_t page = 1; page <= 20; ++page) {
    EXPECT_EQ(find(page), page <= 10 ? 1U : 0U) << page;
  }
}

TEST_F(BlockCacheTest, AFrameInUseIsNotEvicted) {
  ASSERT_TRUE(keep(7));
  FrameIndex frame{0};
  while (frames_[frame].state != FrameState::block) {
    frame = FrameIndex{raw(frame) + 1};
  }
  EXPECT_FALSE(cache_.try_evict(frame)) << "it is not cool";
  frames_[frame].cool = true;
  frames_[frame].latch.lock_shared();
  EXPECT_FALSE(cache_.try_evict(frame)) << "a thread reads it";
  frames_[frame].latch.unlock_shared();
  EXPECT_TRUE(cache_.try_evict(frame));
  EXPECT_EQ(find(7), 0U);
}

TEST_F(BlockCacheTest, AReadWhileAFrameIsReusedReadsNothing) {
  ASSERT_TRUE(keep(7));
  const bool is_there = cache_.read(PageId{7}, [&](const std::byte*) {
    if (!kOptimisticTakesShared) {  // otherwise the reader holds it
      cache_.forget(PageId{7});
      EXPECT_TRUE(keep(8, 9));
    }
    return true;
  });
  EXPECT_EQ(is_there, kOptimisticTakesShared);
}

// Pages are reused again and again with other contents; a reader that finds one finds it whole.
TEST_F(BlockCacheTest, ThreadsFindWholePages) {
  constexpr std::uint64_t kPages = 24;
  constexpr int kFound = 5'000;  // by each of two readers
  const std::uint64_t seed = palimpsest::test::seed();
  std::atomic<int> readers_left{2};
  run_threads(6, [&](std::size_t thread) {
    Random random(seed + thread);
    if (thread >= 4) {
      for (int found = 0; found < kFound;) {
        found += find(1 + random.below(kPages)) != 0 ? 1 : 0;
      }
      readers_left.fetch_sub(1);
      return;
    }
    while (readers_left.load() != 0) {
      const std::uint64_t page = 1 + random.below(kPages);
      if (thread < 2) {
        keep(page, 1 + random.below(1000));
      } else if (thread == 2) {
        cache_.forget(PageId{page});
      } else {
        visit_all();
      }
    }
  });
  for (std::uint64_t page = 1; page <= kPages; ++page) {
    cache_.forget(PageId{page});
  }
  EXPECT_EQ(free_.count(), kFrames) << "each frame was named by one place";
}

/// The same in a pool with pages of a tree.
class BlocksInPool : public palimpsest::test::InterleavingTest {
 protected:
  bool keep(std::uint64_t page) {
    BlockCache::Filling filling = database_->pool().begin_block(PageId{page});
    if (filling.has_memory()) {
      fill(filling.memory(), PageId{page}, 1);
      filling.keep();
      return true;
    }
    return false;
  }
  bool has(std::uint64_t page) {
    return database_->pool().blocks().read(PageId{page}, [](const std::byte*) { return true; });
  }
};

TEST_F(BlocksInPool, PagesOfTreesDriveOutBlocksAndBlocksPages) {
  constexpr std::uint64_t kFirst = 100'000;  // of no tree
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(eventually([&] { return keep(kFirst + i); })) << "nothing makes room for it";
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(value_of(i), old_value(i));
  }
  std::uint64_t left = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    left += has(kFirst + i) ? 1U : 0U;
  }
  EXPECT_LT(left, 10U);
}

}  // namespace
}  // namespace palimpsest::buffer
