// The age of dirty pages: set when they become dirty, retained until they are written, whatever
// happens to the write.
#include "buffer/page_age.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "palimpsest/error.h"

#include "buffer/file_header.h"
#include "tests/buffer/interleaving_support.h"

namespace palimpsest::buffer {
namespace {

using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;

TEST(PageAge, NumbersAreComparedAcrossTheirEnd) {
  constexpr PageAge kLast((std::uint32_t{1} << PageAge::kBits) - 1);
  static_assert(kLast.next() == PageAge{});
  static_assert(kLast.is_before(PageAge{}) && !PageAge{}.is_before(kLast));
  static_assert(PageAge(6).is_before(PageAge(7)) && !PageAge(7).is_before(PageAge(7)));
}

// Each page has one of five turns, its neighbours in the file have the same, and each turn has as
// many pages.
TEST(PagesByAge, NeighboursHaveTheirTurnsTogether) {
  constexpr std::uint32_t kTurns = 5;
  constexpr PageAge kYoung(7);
  const auto turn_of = [&](std::uint64_t page) {
    std::vector<std::uint32_t> turns;
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      const PagesByAge pages{.before = kYoung, .turn = turn, .turns = kTurns};
      if (pages.have(PageId{page}, kYoung)) {
        turns.push_back(turn);
      }
    }
    EXPECT_EQ(turns.size(), 1U) << page;
    return turns.at(0);
  };
  std::vector<std::uint64_t> pages_of(kTurns);
  std::uint64_t changes = 0;
  constexpr std::uint64_t kPages = PagesByAge::kNeighbours * kTurns * 4;
  for (std::uint64_t page = 0; page < kPages; ++page) {
    ++pages_of.at(turn_of(page));
    changes += page != 0 && turn_of(page) != turn_of(page - 1) ? 1U : 0U;
  }
  EXPECT_EQ(pages_of, std::vector<std::uint64_t>(kTurns, kPages / kTurns));
  EXPECT_EQ(changes, kPages / PagesByAge::kNeighbours - 1);
}

// As with tables that grow together, each by as many pages as its writers reserve at a time.
TEST(PagesByAge, PagesTakenInStepHaveAllTurns) {
  constexpr std::uint32_t kTurns = 5;
  constexpr std::uint64_t kAtATime = 2 * PagesByAge::kNeighbours;
  constexpr std::uint64_t kRounds = 100;
  const PagesByAge pages{.before = {}, .turn = 0, .turns = kTurns};
  for (std::uint64_t tables = 1; tables < 12; ++tables) {
    std::vector<std::uint64_t> pages_of(kTurns);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      for (std::uint64_t page = 0; page < kAtATime; ++page) {
        ++pages_of.at(pages.turn_of(PageId{round * tables * kAtATime + page}));
      }
    }
    const auto [least, most] = std::ranges::minmax(pages_of);
    EXPECT_GT(least, kRounds * kAtATime / kTurns / 2) << tables << " tables";
    EXPECT_LT(most, kRounds * kAtATime / kTurns * 2) << tables << " tables";
  }
}

class PageAges : public palimpsest::test::InterleavingTest {
 public:
  ~PageAges() override { disk_.set_hook({}); }

 protected:
  // The file is marked as open, and a write that fails is not final.
  PageAges() {
    update(0);
    pool().flush();
  }

  [[nodiscard]] BufferPool& pool() { return database_->pool(); }
  /// In the leaf of the records with the same tens.
  void update(std::uint64_t record) {
    ASSERT_TRUE(tree().update(key_of(record), new_value(record)));
  }
  [[nodiscard]] std::uint32_t flags_of(std::uint64_t record) {
    return pool().frames()[leaf_of(record).frame].flags.load();
  }
  /// The page is dirty, and not being written.
  [[nodiscard]] ::testing::AssertionResult is_dirty_since(std::uint64_t record, PageAge age) {
    const std::uint32_t flags = flags_of(record);
    if (flags == (FrameFlag::dirty | FrameFlag::since(age))) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "flags " << (flags & FrameFlag::kAll) << ", since "
                                         << FrameFlag::since_of(flags).number();
  }
  /// Runs once, in the next write of pages.
  void in_next_write(const std::function<void()>& meanwhile) {
    disk_.set_hook([meanwhile, done = false](const SimOperation& operation) mutable {
      const bool is_of_pages =
          operation.kind == SimKind::write && operation.offset_bytes >= kHeaderAreaBytes;
      if (is_of_pages && !std::exchange(done, true)) {
        meanwhile();
      }
    });
  }
  [[nodiscard]] std::vector<FrameIndex> frames_of(const std::vector<std::uint64_t>& records) {
    std::vector<FrameIndex> frames;
    frames.reserve(records.size());
    for (const std::uint64_t record : records) {
      frames.push_back(leaf_of(record).frame);
    }
    return frames;
  }
};

TEST_F(PageAges, APageKeepsTheAgeInWhichItBecameDirty) {
  const PageAge first = pool().begin_age();
  update(100);
  EXPECT_TRUE(is_dirty_since(100, first));
  const PageAge second = pool().begin_age();
  update(101);
  EXPECT_TRUE(is_dirty_since(100, first));
  update(500);
  EXPECT_TRUE(is_dirty_since(500, second));
  pool().flush();
  EXPECT_EQ(flags_of(100), 0U) << "a clean page is evictable";
}

TEST_F(PageAges, NewPagesAreDirtySinceTheyAreThere) {
  static_cast<void>(pool().begin_age());
  const PageAge now = pool().begin_age();
  PageReservation reservation = pool().reserve(1);
  ExclusivePage parent = tree().descent().node<ExclusivePage>(btree::Target{key_of(0)}, 1);
  ExclusivePage page = pool().new_page(reservation, PageType::tree_leaf, parent);
  EXPECT_EQ(page.frame().flags.load(), FrameFlag::dirty | FrameFlag::since(now));
  pool().free_page(std::move(page));
}

TEST_F(PageAges, UnwrittenFramesAreFoundByAge) {
  const PageAge first = pool().begin_age();
  update(100);
  update(200);
  const PageAge second = pool().begin_age();
  update(500);
  update(101);
  EXPECT_TRUE(pool().unwritten_frames({.before = first}).empty());
  const auto old = pool().unwritten_frames({.before = second});
  EXPECT_EQ(std::set(old.begin(), old.end()), (std::set{leaf_of(100).frame, leaf_of(200).frame}));
  EXPECT_EQ(pool().unwritten_frames({.before = second.next()}).size(), 3U);
  EXPECT_EQ(pool().unwritten_frames().size(), 3U);
  pool().write(old);
  EXPECT_EQ(pool().unwritten_frames({.before = second.next()}), frames_of({500}));
}

// The image whose write fails holds the older change.
TEST_F(PageAges, AFailedWriteLeavesThePageAsOldAsItWas) {
  const PageAge first = pool().begin_age();
  update(100);
  const PageAge second = pool().begin_age();
  in_next_write([&] {
    update(101);
    EXPECT_EQ(flags_of(100), FrameFlag::dirty | FrameFlag::writing | FrameFlag::since(first));
  });
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write)});
  EXPECT_THROW(pool().flush(), Error);
  EXPECT_TRUE(is_dirty_since(100, first));
  EXPECT_EQ(pool().unwritten_frames({.before = second}), frames_of({100}));
}

TEST_F(PageAges, AFailedWriteMakesThePageDirtySinceBefore) {
  const PageAge first = pool().begin_age();
  update(100);
  static_cast<void>(pool().begin_age());
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::write)});
  EXPECT_THROW(pool().flush(), Error);
  EXPECT_TRUE(is_dirty_since(100, first));
}

// A page that has been written is not due again soon, even if it changes all the time.
TEST_F(PageAges, APageChangedWhileItIsWrittenIsAsOldAsItsCopy) {
  static_cast<void>(pool().begin_age());
  update(100);
  const PageAge copied = pool().begin_age();
  in_next_write([&] {
    static_cast<void>(pool().begin_age());
    update(101);
  });
  pool().flush();
  EXPECT_TRUE(is_dirty_since(100, copied));
  EXPECT_TRUE(pool().unwritten_frames({.before = copied}).empty());
}

// A page that is being written may have to be written once more: the write may fail.
TEST_F(PageAges, PagesThatAreBeingWrittenAreFoundByAge) {
  static_cast<void>(pool().begin_age());
  update(100);
  const PageAge second = pool().begin_age();
  std::vector<FrameIndex> found;
  in_next_write([&] { found = pool().unwritten_frames({.before = second}); });
  pool().flush();
  EXPECT_EQ(found, frames_of({100}));
  EXPECT_TRUE(pool().unwritten_frames().empty());
}

}  // namespace
}  // namespace palimpsest::buffer
