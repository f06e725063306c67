// Ghosts: every function that changes a leaf counts them, every read of a tree omits them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/audit.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "btree/leaf_walk.h"
#include "btree/node/node_split.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::TreeDatabase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::uint32_t counted_ghosts(const LeafView& leaf) {
  std::uint32_t ghosts = 0;
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    ghosts += leaf.is_ghost(slot) ? 1U : 0U;
  }
  return ghosts;
}

/// Two neighbouring leaves, changed at random; sound() compares ghost_count.
class TwoLeaves {
 public:
  TwoLeaves(std::uint32_t page_size, Random& random)
      : page_size_(page_size), random_(random), left_(page_size), right_(page_size) {
    left_.leaf().init(PageId{1}, TreeId{7}, {}, std::nullopt);
  }

  void step() {
    LeafNode leaf = divided_ && random_.one_in(2) ? right_.leaf() : left_.leaf();
    if (leaf.count() == 0 || random_.below(3) == 0) {
      insert(leaf);
      return;
    }
    const auto slot = static_cast<SlotIndex>(random_.below(leaf.count()));
    switch (random_.below(8)) {
      case 0: leaf.remove(slot); break;
      case 1:
      case 2: leaf.set_ghost(slot, random_.one_in(2)); break;
      case 3: {
        const std::string value = random_value(random_, 8, page_size_);
        static_cast<void>(leaf.replace_value(slot, value));
        break;
      }
      case 4:
        leaf.set_flags(slot,
                       static_cast<std::uint16_t>(random_.below(1U + (kLargeValue | kGhost))));
        break;
      case 5: purge(leaf); break;
      case 6: leaf.compact(); break;
      default: divide_or_join();
    }
  }

  void expect_counted() const {
    ASSERT_TRUE(sound(left_.leaf()));
    ASSERT_EQ(left_.leaf().ghost_count(), counted_ghosts(left_.leaf()));
    if (divided_) {
      ASSERT_TRUE(sound(right_.leaf()));
      ASSERT_EQ(right_.leaf().ghost_count(), counted_ghosts(right_.leaf()));
    }
  }
  [[nodiscard]] std::uint32_t ghosts_moved() const { return ghosts_moved_; }

 private:
  void insert(LeafNode leaf) {
    const std::string key = random_key(random_, KeyShape::integer, page_size_);
    const SearchResult at = leaf.find(key);
    if (leaf.covers(key) && !at.found) {
      const auto flags = static_cast<std::uint16_t>(random_.one_in(4) ? kGhost : kPlainRecord);
      static_cast<void>(
          leaf.insert(at.slot, key, random_value(random_, key.size(), page_size_), flags));
    }
  }
  void purge(LeafNode leaf) {
    if (random_.one_in(8)) {
      leaf.purge_ghosts();
      ASSERT_EQ(leaf.ghost_count(), 0U);
      return;
    }
    std::vector<SlotIndex> slots;
    for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
      if (leaf.is_ghost(slot) && random_.one_in(2)) {
        slots.push_back(slot);
      }
    }
    const std::uint32_t before = leaf.ghost_count();
    leaf.purge_ghosts(slots);
    ASSERT_EQ(leaf.ghost_count(), before - slots.size());
  }
  void divide_or_join() {
    if (!divided_ && left_.leaf().count() >= 2) {
      SplitPlan plan;
      plan_split(left_.leaf(), plan);
      split_into(left_.leaf(), right_.leaf(), PageId{2}, plan);
      ghosts_moved_ += right_.leaf().ghost_count();
      divided_ = true;
    } else if (divided_ && can_merge(left_.leaf(), right_.leaf())) {
      merge_into_left(left_.leaf(), right_.leaf());
      divided_ = false;
    }
  }

  std::uint32_t page_size_;
  Random& random_;
  PageMemory left_;
  PageMemory right_;
  bool divided_ = false;
  std::uint32_t ghosts_moved_ = 0;
};

class GhostPages : public ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, GhostPages, ::testing::ValuesIn(kPageSizes));

TEST_P(GhostPages, AreCountedByEveryChange) {
  Random random(palimpsest::test::seed());
  TwoLeaves leaves(GetParam(), random);
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    leaves.step();
    leaves.expect_counted();
  }
  EXPECT_GT(leaves.ghosts_moved(), 0U);
}

TEST_P(GhostPages, AreCountedByABuild) {
  const PageMemory page(GetParam());
  LeafNode leaf = page.leaf();
  leaf.begin_build(PageId{1}, TreeId{7}, "a1");
  ASSERT_TRUE(leaf.append("a11", "one", kGhost));
  ASSERT_TRUE(leaf.append("a12", "two"));
  ASSERT_TRUE(leaf.append("b", "three", kGhost));  // shortens the prefix, so the leaf is rebuilt
  KeyBuffer upper;
  ASSERT_TRUE(leaf.seal("c", upper));
  EXPECT_TRUE(sound(leaf));
  EXPECT_EQ(leaf.ghost_count(), 2U);
}

TEST(GhostValidation, RefusesAWrongCount) {
  const PageMemory page(4096);
  LeafNode leaf = page.leaf();
  leaf.init(PageId{1}, TreeId{7}, {}, std::nullopt);
  ASSERT_TRUE(leaf.insert(0, "a", "1", kGhost));
  ASSERT_TRUE(leaf.insert(1, "b", "2"));
  const auto with_count = [&](std::uint16_t count) {
    std::memcpy(page.data() + offsetof(buffer::PageHeader, ghost_count), &count, sizeof count);
    return validate_node(page.bytes()).value_or("accepted");
  };
  EXPECT_THAT(with_count(0), HasSubstr("ghost_count is 0, the node has 1"));
  EXPECT_THAT(with_count(2), HasSubstr("ghost_count is 2, the node has 1"));
  EXPECT_EQ(with_count(1), "accepted");
  page.inner().init(PageId{1}, TreeId{7}, 1, {}, std::nullopt, 9);
  EXPECT_EQ(with_count(0), "accepted");
  EXPECT_THAT(with_count(1), HasSubstr("ghost_count is 1, the node has 0"));
}

std::vector<std::pair<SlotIndex, SlotIndex>> runs_of(const LeafView& leaf, SlotIndex first,
                                                     SlotIndex last, bool descending) {
  std::vector<std::pair<SlotIndex, SlotIndex>> runs;
  for_each_live_run(leaf, first, last, descending, [&](SlotIndex begin, SlotIndex end) {
    runs.emplace_back(begin, end);
    return true;
  });
  return runs;
}

TEST(GhostRuns, AreLeftOutInBothDirections) {
  using Run = std::pair<SlotIndex, SlotIndex>;
  const PageMemory page(4096);
  LeafNode leaf = page.leaf();
  leaf.init(PageId{1}, TreeId{7}, {}, std::nullopt);
  for (SlotIndex i = 0; i < 10; ++i) {
    ASSERT_TRUE(leaf.insert(i, big_endian(i), "value"));
  }
  EXPECT_THAT(runs_of(leaf, 2, 9, false), ElementsAre(Run(2, 9)));
  for (const SlotIndex ghost : {0U, 3U, 4U, 8U}) {
    leaf.set_ghost(ghost, true);
  }
  EXPECT_THAT(runs_of(leaf, 0, 10, false), ElementsAre(Run(1, 3), Run(5, 8), Run(9, 10)));
  EXPECT_THAT(runs_of(leaf, 0, 10, true), ElementsAre(Run(9, 10), Run(5, 8), Run(1, 3)));
  EXPECT_THAT(runs_of(leaf, 2, 6, true), ElementsAre(Run(5, 6), Run(2, 3)));
  EXPECT_THAT(runs_of(leaf, 3, 5, false), IsEmpty());
  EXPECT_THAT(runs_of(leaf, 3, 5, true), IsEmpty());
  SlotIndex calls = 0;
  EXPECT_FALSE(
      for_each_live_run(leaf, 0, 10, false, [&](SlotIndex, SlotIndex) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2U);
}

class GhostTree : public ::testing::Test {
 protected:
  GhostTree()
      : device_(disk_.device()), database_(TreeDatabase::create(*device_, {.frames = 64})) {}
  [[nodiscard]] BTree& tree() { return database_->tree(); }
  [[nodiscard]] std::size_t purge_all(ByteView key) {
    return tree().purge_ghosts({}, key, [](const LeafView&, SlotIndex) { return true; });
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<TreeDatabase> database_;
};

TEST_F(GhostTree, IsAbsentToEveryCall) {
  ASSERT_TRUE(tree().insert("key", "value"));
  ASSERT_TRUE(tree().mark_deleted("key"));
  std::string value = "untouched";
  LastLeaf last;
  for (int i = 0; i < 2; ++i) {  // by a descent, then by the remembered leaf
    EXPECT_FALSE(tree().lookup("key", value, &last));
  }
  EXPECT_EQ(value, "untouched");
  EXPECT_FALSE(tree().modify("key", [](MutableBytes) { FAIL() << "a ghost was changed"; }));
  EXPECT_FALSE(tree().update("key", "other"));
  EXPECT_FALSE(tree().remove("key"));
  EXPECT_FALSE(tree().mark_deleted("key"));
  Cursor cursor(tree());
  cursor.seek_first();
  EXPECT_FALSE(cursor.valid());
  cursor.seek_last();
  EXPECT_FALSE(cursor.valid());
  EXPECT_TRUE(tree().unmark_deleted("key"));
  EXPECT_FALSE(tree().unmark_deleted("key"));
  EXPECT_TRUE(tree().lookup("key", value));
  EXPECT_EQ(value, "value");
}

TEST_F(GhostTree, AnInsertRevivesIt) {
  ASSERT_TRUE(tree().insert("key", "value"));
  ASSERT_TRUE(tree().mark_deleted("key"));
  EXPECT_TRUE(tree().insert("key", "another value"));
  EXPECT_FALSE(tree().insert("key", "a third"));
  std::string value;
  EXPECT_TRUE(tree().lookup("key", value));
  EXPECT_EQ(value, "another value");
  EXPECT_EQ(purge_all("key"), 0U);
  EXPECT_EQ(audit(tree()).leaves().entries, 1U);
  EXPECT_EQ(audit(tree()).leaves().ghosts, 0U);
}

// The audit of the space map finds every page that leaks or is freed too early.
TEST_F(GhostTree, KeepsItsLargeValueUntilItGoes) {
  const std::string large(20'000, 'l');
  ASSERT_TRUE(tree().insert("a", large));
  ASSERT_TRUE(tree().insert("b", large));
  ASSERT_TRUE(tree().mark_deleted("a"));
  ASSERT_TRUE(tree().mark_deleted("b"));
  EXPECT_EQ(audit(tree()).large_values, 2U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
  EXPECT_TRUE(tree().insert("a", "small"));
  EXPECT_EQ(audit(tree()).large_values, 1U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
  EXPECT_EQ(purge_all("b"), 1U);
  EXPECT_EQ(audit(tree()).large_values, 0U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A cursor that copies a few records at a time must not take a leaf of ghosts for the end.
TEST_F(GhostTree, ScansSkipRunsOfGhosts) {
  constexpr std::uint64_t kRecords = 2000;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), "value"));
  }
  ASSERT_GT(audit(tree()).leaves().nodes, 10U);
  for (std::uint64_t i = 1; i + 1 < kRecords; ++i) {
    ASSERT_TRUE(i == 777 || tree().mark_deleted(big_endian(i)));
  }
  const auto number = [](const Cursor& cursor) { return std::string(cursor.key()); };
  for (const std::size_t hint : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    Cursor cursor(tree(), hint);
    std::vector<std::string> seen;
    for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      seen.push_back(number(cursor));
    }
    EXPECT_THAT(seen, ElementsAre(big_endian(0), big_endian(777), big_endian(kRecords - 1)));
    seen.clear();
    for (cursor.seek_last(); cursor.valid(); cursor.previous()) {
      seen.push_back(number(cursor));
    }
    EXPECT_THAT(seen, ElementsAre(big_endian(kRecords - 1), big_endian(777), big_endian(0)));
  }
}

TEST_F(GhostTree, PurgingThinLeavesMergesThem) {
  constexpr std::uint64_t kRecords = 2000;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(tree().insert(big_endian(i), "value"));
  }
  const std::uint64_t leaves = audit(tree()).leaves().nodes;
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_TRUE(i % 100 == 0 || tree().mark_deleted(big_endian(i)));
  }
  EXPECT_EQ(audit(tree()).leaves().nodes, leaves);
  std::size_t purged = 0;
  for (std::uint64_t i = 0; i < kRecords; i += 10) {
    purged += purge_all(big_endian(i));
  }
  EXPECT_EQ(purged, kRecords - kRecords / 100);
  EXPECT_LT(audit(tree()).leaves().nodes, leaves / 4);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

}  // namespace
}  // namespace palimpsest::btree::test
