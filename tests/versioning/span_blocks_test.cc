// Blocks of pages that have one span: each page comes back as it went, or when no snapshot can
// tell.
#include "versioning/span_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <vector>

#include "base/random.h"
#include "tests/btree/allocation_faults.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::versioning {
namespace {

using btree::test::AllocationFault;

constexpr auto never = [] { return false; };
constexpr auto always = [](const Span& /*one*/, const Span& /*other*/) { return true; };

std::optional<SpanBlocks::Made> take(SpanBlocks& blocks, PageId page) {
  std::optional<SpanBlocks::Made> taken;
  blocks.take(page, [&](const SpanBlocks::Made& made) { taken = made; });
  return taken;
}

SpanBlocks::Made made(std::uint64_t from, std::uint64_t to, std::uint64_t youngest = 0) {
  return {.span = {Gsn{from}, Gsn{to}}, .youngest = Gsn{youngest}};
}

TEST(SpanBlocks, NeighboursShareAnObject) {
  EntryMemory memory;
  SpanBlocks blocks(memory);
  for (std::uint64_t page = 512; page < 1024; ++page) {
    ASSERT_TRUE(blocks.enter(PageId{page}, made(page, page + 3, page / 2), always));
  }
  EXPECT_EQ(blocks.pages(), 512U);
  EXPECT_EQ(memory.spans(), 1U);
  EXPECT_LE(memory.bytes_in_use(), 128U);
  EXPECT_FALSE(take(blocks, PageId{511}));
  EXPECT_FALSE(take(blocks, PageId{1024}));
  for (std::uint64_t page = 512; page < 1024; ++page) {
    const auto taken = take(blocks, PageId{page});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->span.from, Gsn{512});
    EXPECT_EQ(taken->span.to, Gsn{1026});
    EXPECT_EQ(taken->youngest, Gsn{511});
    EXPECT_FALSE(take(blocks, PageId{page}));
  }
  EXPECT_EQ(blocks.pages(), 0U);
  EXPECT_EQ(memory.bytes_in_use(), 0U);
}

TEST(SpanBlocks, WithoutMemoryThePageKeepsWhatItHas) {
  if (!btree::test::kAllocationsCanFail) {
    GTEST_SKIP() << "allocations cannot be made to fail";
  }
  EntryMemory memory;
  SpanBlocks blocks(memory);
  {
    const AllocationFault fault(1);
    EXPECT_FALSE(blocks.enter(PageId{7}, made(1, 2), always));
  }
  EXPECT_EQ(blocks.pages(), 0U);
  ASSERT_TRUE(blocks.enter(PageId{7}, made(1, 2), always));
  const auto fail = [](const SpanBlocks::Made&) { throw std::bad_alloc(); };
  EXPECT_THROW(blocks.take(PageId{7}, fail), std::bad_alloc);
  EXPECT_EQ(blocks.pages(), 1U);
  EXPECT_TRUE(take(blocks, PageId{7}));
}

// The leaf of a tree that is being emptied may have a span across a snapshot that does not see it.
// No page of another tree may share it.
TEST(SpanBlocks, ASpanAcrossASnapshotIsNotShared) {
  constexpr Gsn kSnapshot{50};
  EntryMemory memory;
  SpanBlocks blocks(memory);
  const auto can_join = [&](const Span& one, const Span& other) {
    const Span both = one.with(other);
    return kSnapshot < both.from || both.to <= kSnapshot;
  };
  EXPECT_FALSE(blocks.enter(PageId{1}, made(10, 90), can_join));
  EXPECT_TRUE(blocks.enter(PageId{2}, made(60, 70), can_join));
  EXPECT_TRUE(blocks.enter(PageId{3}, made(10, 50), can_join));
  EXPECT_EQ(memory.spans(), 2U);
  EXPECT_FALSE(take(blocks, PageId{1}));
  EXPECT_EQ(take(blocks, PageId{2})->span.from, Gsn{60});
  EXPECT_EQ(take(blocks, PageId{3})->span.from, Gsn{10});
}

// What every snapshot sees goes, and does not become longer.
TEST(SpanBlocks, ABlockThatAllSeeIsNotJoined) {
  EntryMemory memory;
  SpanBlocks blocks(memory);
  ASSERT_TRUE(blocks.enter(PageId{1}, made(10, 20), always));
  memory.raise_horizon(Gsn{30});
  ASSERT_TRUE(blocks.enter(PageId{2}, made(40, 50), always));
  EXPECT_EQ(blocks.prune_all(Gsn{30}, never), 1U);
  EXPECT_FALSE(take(blocks, PageId{1}));
  EXPECT_EQ(take(blocks, PageId{2})->span.from, Gsn{40});
}

TEST(SpanBlocks, PruningSomeReachesAll) {
  constexpr std::uint64_t kPages = 20'000;
  EntryMemory memory;
  SpanBlocks blocks(memory);
  for (std::uint64_t i = 0; i < kPages; ++i) {
    ASSERT_TRUE(blocks.enter(PageId{i * 512 + i % 512}, made(i, i), always));
  }
  EXPECT_EQ(blocks.prune_all(Gsn{9}, never), 10U);
  std::size_t pruned = 10;
  for (int calls = 0; pruned < kPages / 2; ++calls) {
    ASSERT_LT(calls, 10'000) << pruned;
    pruned += blocks.prune_some(Gsn{kPages / 2 - 1});
  }
  EXPECT_EQ(blocks.pages(), kPages / 2);
  EXPECT_FALSE(take(blocks, PageId{100 * 512 + 100}));
  EXPECT_TRUE(take(blocks, PageId{(kPages - 1) * 512 + (kPages - 1) % 512}));
}

// Pages come and go beside snapshots that end, while the horizon rises: to each snapshot in use a
// page says what it said when it went.
TEST(SpanBlocks, NoSnapshotSeesADifference) {
  Random random(test::seed());
  EntryMemory memory;
  SpanBlocks blocks(memory);
  std::map<std::uint64_t, SpanBlocks::Made> pages;
  std::vector<std::uint64_t> snapshots;
  std::uint64_t clock = 1;
  const auto can_join = [&](const Span& one, const Span& other) {
    const Span both = one.with(other);
    return std::ranges::none_of(snapshots, [&](std::uint64_t snapshot) {
      return both.from <= Gsn{snapshot} && Gsn{snapshot} < both.to;
    });
  };
  const auto same = [&](const SpanBlocks::Made& one, const SpanBlocks::Made& other) {
    return std::ranges::all_of(snapshots, [&](std::uint64_t snapshot) {
      return one.span.hides_from(Gsn{snapshot}) == other.span.hides_from(Gsn{snapshot});
    });
  };
  for (int step = 0; step < 100'000; ++step) {
    const std::uint64_t page = random.below(3'000);
    if (random.one_in(200)) {
      snapshots.push_back(clock++);
    } else if (!snapshots.empty() && random.one_in(200)) {
      snapshots.erase(snapshots.begin() +
                      static_cast<std::ptrdiff_t>(random.below(snapshots.size())));
    } else if (random.one_in(50)) {
      const std::uint64_t horizon = snapshots.empty() ? clock : std::ranges::min(snapshots);
      blocks.prune_some(Gsn{horizon});
      if (random.one_in(5)) {
        blocks.prune_all(Gsn{horizon}, never);
      }
    } else if (const auto it = pages.find(page); it == pages.end()) {
      const SpanBlocks::Made entered = made(clock, clock + random.below(3), random.below(clock));
      clock += 5;
      ASSERT_TRUE(blocks.enter(PageId{page}, entered, can_join));
      pages.emplace(page, entered);
    } else {
      const auto taken = take(blocks, PageId{page});
      if (taken) {
        ASSERT_TRUE(same(*taken, it->second)) << page;
        ASSERT_GE(taken->youngest, it->second.youngest);
      } else {
        ASSERT_TRUE(same(made(0, 0), it->second)) << "page " << page << " went too early";
      }
      pages.erase(it);
    }
  }
}

// Each thread's pages come and go while other threads ask for them in vain and prune.
TEST(SpanBlocks, ManyThreads) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kPagesOfThread = 100;
  const std::uint64_t seed = test::seed();
  EntryMemory memory;
  SpanBlocks blocks(memory);
  test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(seed + thread);
    std::array<bool, kPagesOfThread> is_away{};
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t at = random.below(kPagesOfThread);
      const PageId page{at * kThreads + thread};
      if (!is_away[at]) {
        ASSERT_TRUE(blocks.enter(page, made(100, 200 + at), always));
      } else {
        ASSERT_TRUE(take(blocks, page));
        ASSERT_FALSE(take(blocks, page));
      }
      is_away[at] = !is_away[at];
      blocks.prune_some(Gsn{50});
    }
    for (std::uint64_t at = 0; at < kPagesOfThread; ++at) {
      ASSERT_EQ(take(blocks, PageId{at * kThreads + thread}).has_value(), is_away[at]);
    }
  });
  EXPECT_EQ(blocks.pages(), 0U);
  EXPECT_EQ(memory.bytes_in_use(), 0U);
}

}  // namespace
}  // namespace palimpsest::versioning
