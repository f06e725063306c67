// Walks over leaves whose neighbours, parents and children change between two steps.
#include "btree/leaf_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/tree_fixture.h"

namespace palimpsest::btree {
namespace {

using palimpsest::test::SimDisk;
using palimpsest::test::sound;
using palimpsest::test::TreeDatabase;
using test::big_endian;

constexpr std::uint64_t kLasting = 4000;  ///< records that exist throughout: key 16 * i

class LeafWalkTest : public ::testing::TestWithParam<Direction> {
 protected:
  // With enough frames, or so few that leaves are evicted and loaded during the walk.
  void create(std::uint32_t frames) {
    database_ = TreeDatabase::create(*device_, {.page_size_bytes = 4096, .frames = frames});
    for (std::uint64_t i = 0; i < kLasting; ++i) {
      ASSERT_TRUE(tree().insert(big_endian(16 * i), value_));
    }
  }

  [[nodiscard]] BTree& tree() { return database_->tree(); }

  /// Appends the keys of the walk's leaf, in the walk's order.
  void take(const LeafWalk& walk, std::vector<std::string>& keys) const {
    const LeafView leaf = walk.leaf();
    for (SlotIndex i = walk.first(); i < walk.last(); ++i) {
      const SlotIndex slot =
          GetParam() == Direction::forward ? i : walk.last() - 1 - (i - walk.first());
      keys.push_back(std::string(leaf.prefix()).append(leaf.record(slot).suffix));
    }
  }

  /// Walks over everything; `between` runs after each leaf, without latches.
  template <class Between>
  [[nodiscard]] std::vector<std::string> walk(Between between) {
    std::vector<std::string> keys;
    LeafWalk leaves(tree().descent(), {}, GetParam());
    while (leaves.next()) {
      take(leaves, keys);
      leaves.release();
      between();
    }
    return keys;
  }

  /// Every key once and in order, and none of the permanent records missing.
  void expect_complete(const std::vector<std::string>& keys) const {
    std::uint64_t lasting = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) {
        ASSERT_TRUE(GetParam() == Direction::forward ? keys[i - 1] < keys[i]
                                                     : keys[i - 1] > keys[i])
            << "at " << i;
      }
      const std::uint64_t met = GetParam() == Direction::forward ? lasting : kLasting - 1 - lasting;
      lasting += keys[i] == big_endian(16 * met) ? 1U : 0U;
    }
    EXPECT_EQ(lasting, kLasting);
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<TreeDatabase> database_;
  Random random_{palimpsest::test::seed()};
  std::string value_ = std::string(100, 'v');
};

TEST_P(LeafWalkTest, NothingChanges) {
  create(400);
  const auto keys = walk([] {});
  EXPECT_EQ(keys.size(), kLasting);
  expect_complete(keys);
}

TEST_P(LeafWalkTest, LeavesSplitAndMergeOnAllSides) {
  create(600);
  std::vector<std::string> added;
  const auto keys = walk([&] {
    for (int i = 0; i < 40; ++i) {  // close together, so that leaves split
      const std::uint64_t place = random_.below(kLasting);
      for (std::uint64_t j = 1; j < 12; ++j) {
        std::string key = big_endian(16 * place + j);
        if (tree().insert(key, value_)) {
          added.push_back(std::move(key));
        }
      }
    }
    for (int i = 0; i < 400 && added.size() > 200; ++i) {
      std::swap(added[random_.below(added.size())], added.back());
      ASSERT_TRUE(tree().remove(added.back()));
      added.pop_back();
    }
  });
  expect_complete(keys);
  EXPECT_TRUE(sound(*database_));
}

TEST_P(LeafWalkTest, LeavesComeAndGo) {
  create(40);
  const auto keys = walk([&] {
    for (int i = 0; i < 20; ++i) {
      std::string value;
      ASSERT_TRUE(tree().lookup(big_endian(16 * random_.below(kLasting)), value));
    }
  });
  EXPECT_EQ(keys.size(), kLasting);
  expect_complete(keys);
}

// Four records a leaf, three levels: the parent that the walk remembers is evicted too, and its
// frame gets other pages.
TEST_P(LeafWalkTest, ParentsComeAndGo) {
  value_.assign(900, 'v');
  create(40);
  ASSERT_GE(tree().descent().root_level(), 2U);
  const auto keys = walk([&] {
    for (int i = 0; i < 50; ++i) {
      std::string value;
      ASSERT_TRUE(tree().lookup(big_endian(16 * random_.below(kLasting)), value));
    }
  });
  EXPECT_EQ(keys.size(), kLasting);
  expect_complete(keys);
}

TEST_P(LeafWalkTest, VisitorSeesARangeAndEndsIt) {
  create(400);
  const std::string lower = big_endian(16'000);
  const std::string upper = big_endian(48'000);
  std::uint64_t seen = 0;
  visit_leaves(tree().descent(), {lower, upper}, GetParam(),
               [&](const LeafView& leaf, SlotIndex first, SlotIndex last) {
                 for (SlotIndex slot = first; slot < last; ++slot) {
                   const std::string key =
                       std::string(leaf.prefix()) + std::string(leaf.suffix(slot));
                   EXPECT_TRUE(lower <= key && key < upper);
                   EXPECT_EQ(leaf.record(slot).value, value_);
                 }
                 seen += last - first;
                 return true;
               });
  EXPECT_EQ(seen, 2000U);
  int leaves = 0;
  visit_leaves(tree().descent(), {lower, upper}, GetParam(),
               [&](const LeafView&, SlotIndex, SlotIndex) { return ++leaves < 3; });
  EXPECT_EQ(leaves, 3);
}

TEST_P(LeafWalkTest, PrefixesBoundARange) {
  database_ = TreeDatabase::create(*device_, {.page_size_bytes = 4096, .frames = 400});
  const std::string ff(3, '\xff');
  const std::vector<std::string> prefixes = {"", "a", "ab", "a\xff", "b", ff, ff + "a"};
  std::vector<std::string> all;
  for (const std::string& prefix : prefixes) {
    for (int i = 0; i < 300; ++i) {
      all.push_back(prefix + std::to_string(i));
      ASSERT_TRUE(tree().insert(all.back(), value_));
    }
  }
  for (const std::string& prefix : prefixes) {
    KeyBuffer storage;
    std::vector<std::string> keys;
    LeafWalk leaves(tree().descent(), prefix_range(prefix, storage), GetParam());
    while (leaves.next()) {
      take(leaves, keys);
    }
    EXPECT_TRUE(std::ranges::all_of(keys, [&](auto& key) { return key.starts_with(prefix); }));
    EXPECT_EQ(keys.size(), static_cast<std::size_t>(std::ranges::count_if(
                               all, [&](auto& key) { return key.starts_with(prefix); })));
  }
}

TEST_P(LeafWalkTest, BoundsLongerThanAnyKeyAreRefused) {
  create(400);
  const std::string bound(KeyBuffer::capacity() + 1, 'k');
  EXPECT_THROW(LeafWalk(tree().descent(), {bound, std::nullopt}, GetParam()), Error);
  EXPECT_THROW(LeafWalk(tree().descent(), {ByteView(), bound}, GetParam()), Error);
}

INSTANTIATE_TEST_SUITE_P(Directions, LeafWalkTest,
                         ::testing::Values(Direction::forward, Direction::backward),
                         [](const auto& direction) {
                           return direction.param == Direction::forward ? "Forward" : "Backward";
                         });

}  // namespace
}  // namespace palimpsest::btree
