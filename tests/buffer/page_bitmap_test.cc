// Threads on few words of a page bitmap: every bit has one owner.
#include "buffer/page_bitmap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::test {
namespace {

using buffer::BitRange;
using buffer::PageBitmap;

constexpr std::size_t kThreads = 4;

TEST(PageBitmap, FirstBitsAndUnreleasedBitsAreNeverTaken) {
  PageBitmap bits(128);
  bits.add_stretch();
  bits.add_stretch();
  EXPECT_EQ(bits.take(0), std::nullopt);
  EXPECT_EQ(bits.take_anywhere(), std::nullopt);
  bits.release({126, 131});
  EXPECT_EQ(bits.take(0), 126U);
  EXPECT_EQ(bits.take_anywhere(), 127U);
  EXPECT_TRUE(bits.is_set(128));
  EXPECT_EQ(bits.take(0), 129U);
  EXPECT_EQ(bits.take(1), std::nullopt) << "stripe 0 holds the word";
  EXPECT_EQ(bits.take_anywhere(), 130U);
}

TEST(PageBitmap, ClaimsAreAllOrNothing) {
  PageBitmap bits(256);
  bits.add_stretch();
  bits.release({10, 200});
  EXPECT_TRUE(bits.try_claim({150, 151}));
  EXPECT_FALSE(bits.try_claim({20, 170}));
  EXPECT_FALSE(bits.is_set(20));
  EXPECT_FALSE(bits.is_set(149));
  EXPECT_EQ(bits.find_clear_runs(60, 1), (std::vector<BitRange>{{10, 70}}));
  EXPECT_EQ(bits.find_clear_runs(180, 2), (std::vector<BitRange>{{10, 150}, {151, 191}}));
  EXPECT_TRUE(bits.find_clear_runs(180, 1).empty());
  EXPECT_EQ(bits.find_clear_runs(30, 1, 20), (std::vector<BitRange>{{20, 50}}));
  EXPECT_EQ(bits.find_clear_runs(30, 1, 130), (std::vector<BitRange>{{151, 181}}));
  EXPECT_EQ(bits.find_clear_runs(100, 1, 130), (std::vector<BitRange>{{10, 110}}));
  EXPECT_EQ(bits.find_clear_runs(30, 1, 1'000'000), (std::vector<BitRange>{{10, 40}}));
  EXPECT_EQ(bits.find_clear_runs_below(40, 30, 1), (std::vector<BitRange>{{10, 40}}));
  EXPECT_TRUE(bits.find_clear_runs_below(39, 30, 1).empty());
  EXPECT_EQ(bits.find_clear_runs_below(160, 145, 2),
            (std::vector<BitRange>{{10, 150}, {151, 156}}));
  EXPECT_TRUE(bits.find_clear_runs_below(160, 150, 2).empty());
  EXPECT_TRUE(bits.find_clear_runs_below(5, 1, 2).empty());
  EXPECT_EQ(bits.claim_clear_tail(200, 1), (BitRange{151, 200}));
  EXPECT_EQ(bits.claim_clear_tail(150, 1), (BitRange{10, 150}));
}

TEST(PageBitmap, FilledAndReleasedWhateverTheyWere) {
  PageBitmap bits(128);
  bits.add_stretch();
  bits.release_zeros(10, 0b1011'0010, 7);  // 10, 12, 13 and 16 of [10, 17)
  for (std::uint64_t bit = 0; bit < 128; ++bit) {
    EXPECT_EQ(bits.is_set(bit), bit != 10 && bit != 12 && bit != 13 && bit != 16) << bit;
  }
  bits.release_zeros(64, 0, 64);
  EXPECT_EQ(bits.word(1), 0U);
  EXPECT_TRUE(bits.take_dirty(0));
  bits.fill({12, 80});
  EXPECT_TRUE(bits.take_dirty(0));
  EXPECT_FALSE(bits.is_set(10));
  EXPECT_TRUE(bits.is_set(12));
  EXPECT_TRUE(bits.is_set(13));
  EXPECT_EQ(bits.word(1), 0xFFFFU);
  EXPECT_EQ(bits.take(0), 10U);
  EXPECT_EQ(bits.take(0), 80U) << "nothing that was filled";
}

TEST(PageBitmap, StampsOnlyRise) {
  PageBitmap bits(64);
  bits.add_stretch();
  bits.add_stretch();
  EXPECT_EQ(bits.stamp(1), 0U);
  bits.raise_stamp(1, 7);
  bits.raise_stamp(1, 5);
  EXPECT_EQ(bits.stamp(1), 7U);
  EXPECT_EQ(bits.stamp(0), 0U);
}

/// All threads share a stripe and so a word: the worst case.
TEST(PageBitmap, OneOwnerPerBitWithOneStripe) {
  constexpr std::uint64_t kBits = 32256;
  for (int round = 0; round < 10; ++round) {
    PageBitmap bits(kBits);
    bits.add_stretch();
    bits.release({0, kBits});
    std::vector<std::vector<std::uint64_t>> mine(kThreads);
    run_threads(kThreads, [&](std::size_t thread) {
      while (const auto bit = bits.take(0)) {
        mine[thread].push_back(*bit);
      }
      while (const auto bit = bits.take_anywhere()) {
        mine[thread].push_back(*bit);
      }
    });
    std::vector<std::uint64_t> all;
    for (const std::vector<std::uint64_t>& some : mine) {
      all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
    ASSERT_EQ(all.size(), kBits - 1);
  }
}

/// Threads take and free bits, ranges across words and the tail of four words at once.
TEST(PageBitmap, OneOwnerPerBitOfRangesAndTails) {
  constexpr std::uint64_t kBits = 256;
  PageBitmap bits(kBits);
  bits.add_stretch();
  bits.release({0, kBits});
  std::vector<std::atomic<bool>> owned(kBits);
  std::atomic<std::uint64_t> collisions{0};
  std::atomic<std::uint64_t> claims{0};
  const std::uint64_t random_seed = seed();
  const auto use = [&](BitRange range) {
    for (std::uint64_t bit = range.first; bit < range.end; ++bit) {
      collisions += owned[bit].exchange(true) ? 1U : 0U;
    }
    for (std::uint64_t bit = range.first; bit < range.end; ++bit) {
      owned[bit].store(false);
    }
    bits.release(range);
    ++claims;
  };
  run_threads(kThreads, [&](std::size_t thread) {
    Random random(random_seed + thread);
    for (int i = 0; i < 30'000; ++i) {
      const std::uint64_t dice = random.below(8);
      if (dice < 4) {
        const std::uint64_t first = random.between(1, kBits - 80);
        if (const BitRange range{first, first + random.between(1, 80)}; bits.try_claim(range)) {
          use(range);
        }
      } else if (dice < 7) {
        if (const auto bit = dice < 6 ? bits.take(0) : bits.take_anywhere()) {
          use({*bit, *bit + 1});
        }
      } else if (thread == 0) {
        use(bits.claim_clear_tail(kBits, 1));
      }
    }
  });
  EXPECT_EQ(collisions.load(), 0U);
  EXPECT_GT(claims.load(), 1000U);
  EXPECT_EQ(bits.claim_clear_tail(kBits, 1).size(), kBits - 1) << "all was given back";
}

}  // namespace
}  // namespace palimpsest::test
