#include "btree/node/inner_node.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node/node_split.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::btree::test {
namespace {

constexpr TreeId kTree{7};

/// Maps the first key of a child to its swip; the first child starts at the empty key.
using ChildMap = std::map<std::string, std::uint64_t>;

/// A row of neighbouring inner nodes that together cover all keys, as one level of a tree does.
class InnerRow {
 public:
  InnerRow(std::uint32_t page_size, std::uint64_t first_swip) : page_size_(page_size) {
    nodes_.emplace_back(page_size);
    nodes_[0].inner().init(PageId{1}, kTree, 3, {}, std::nullopt, first_swip);
  }

  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] InnerNode node(std::size_t i) const { return nodes_[i].inner(); }

  [[nodiscard]] std::size_t position_of(ByteView key) const {
    std::size_t at = nodes_.size() - 1;
    while (!node(at).covers(key)) {
      --at;
    }
    return at;
  }

  void insert(const std::string& separator, std::uint64_t swip) {
    const std::size_t at = position_of(separator);
    const SlotIndex slot = node(at).find(separator).slot;
    const bool fits = node(at).can_insert(separator.size());
    ASSERT_EQ(node(at).insert(slot, separator, swip), fits);
    ASSERT_TRUE(sound(node(at)));
    if (fits) {
      return;
    }
    SplitPlan plan;
    plan_split(node(at), slot, separator, plan);
    const SlotIndex count = node(at).count();
    nodes_.emplace(nodes_.begin() + static_cast<std::ptrdiff_t>(at) + 1, page_size_);
    split_into(node(at), node(at + 1), PageId{9}, plan);
    ASSERT_EQ(node(at).count() + node(at + 1).count() + 1, count);
    ASSERT_EQ(node(at + 1).level(), 3U);
    ASSERT_EQ(plan.new_goes_left, separator < plan.separator.view());
    const InnerNode target = node(plan.new_goes_left ? at : at + 1);
    ASSERT_TRUE(InnerNode(target).insert(target.find(separator).slot, separator, swip));
    ASSERT_TRUE(sound(node(at)));
    ASSERT_TRUE(sound(node(at + 1)));
  }

  /// Removes a separator that is not a fence, and the child to its right; then merges if possible.
  bool erase(const std::string& separator) {
    const std::size_t at = position_of(separator);
    const SearchResult place = node(at).find(separator);
    if (!place.found) {
      return false;
    }
    InnerNode changed = node(at);
    changed.remove(place.slot);
    EXPECT_TRUE(sound(changed));
    if (at + 1 < nodes_.size()) {
      const std::uint32_t expected = merged_bytes(changed, node(at + 1));
      EXPECT_EQ(can_merge(changed, node(at + 1)), expected <= changed.capacity_bytes());
      if (can_merge(changed, node(at + 1))) {
        merge_into_left(changed, node(at + 1));
        EXPECT_EQ(changed.capacity_bytes() - changed.free_bytes(), expected);
        EXPECT_TRUE(sound(changed));
        nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
      }
    }
    return true;
  }

  [[nodiscard]] ChildMap content() const {
    ChildMap all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (SlotIndex child = 0; child < node(i).child_count(); ++child) {
        KeyBuffer lower;
        KeyBuffer upper;
        node(i).copy_child_lower(child, lower);
        const bool finite = node(i).copy_child_upper(child, upper);
        EXPECT_EQ(finite, i + 1 < nodes_.size() || child < node(i).count());
        EXPECT_TRUE(!finite || lower.view() < upper.view());
        all[std::string(lower.view())] = node(i).swip_at(child);
      }
    }
    return all;
  }

 private:
  std::uint32_t page_size_;
  std::vector<PageMemory> nodes_;
};

class InnerModelTest : public ::testing::TestWithParam<std::tuple<std::uint32_t, KeyShape>> {};

TEST_P(InnerModelTest, BehavesLikeAMap) {
  const auto [page_size, shape] = GetParam();
  Random random(palimpsest::test::seed());
  ChildMap model{{"", 1000}};
  InnerRow row(page_size, 1000);
  std::uint64_t last_swip = 1000;
  for (int step = 0; step < 1500 && !HasFailure(); ++step) {
    const bool shrinking = step / 300 % 3 == 2;
    const std::string key = random_key(random, shape, page_size);
    const InnerNode node = row.node(row.position_of(key));
    const auto owner = std::prev(model.upper_bound(key));
    ASSERT_EQ(node.swip_at(node.route(key)), owner->second);
    if (shrinking && random.one_in(2)) {
      if (!owner->first.empty() && row.erase(owner->first)) {
        model.erase(owner);
      }
    } else if (!model.contains(key)) {
      row.insert(key, ++last_swip);
      model[key] = last_swip;
    } else {
      InnerNode changed = node;
      changed.set_swip(node.route(key), ++last_swip);
      model[key] = last_swip;
    }
    if (step % 100 == 99) {
      ASSERT_EQ(row.content(), model);
    }
  }
  ASSERT_EQ(row.content(), model);
}

TEST_P(InnerModelTest, RoutesForwardAndBackward) {
  const auto [page_size, shape] = GetParam();
  Random random(palimpsest::test::seed());
  InnerRow row(page_size, 1);
  ChildMap model{{"", 1}};
  for (std::uint64_t i = 2; i < 500; ++i) {
    const std::string key = random_key(random, shape, page_size);
    if (model.emplace(key, i).second) {
      row.insert(key, i);
    }
  }
  for (int i = 0; i < palimpsest::test::repeats(2000); ++i) {
    const std::string key = random.one_in(4) ? random_bytes(random, random.below(6))
                                             : random_key(random, shape, page_size);
    const InnerNode node = row.node(random.below(row.node_count()));
    SlotIndex below = 0;
    while (below < node.count() && separator_at(node, below) < key) {
      ++below;
    }
    const bool equal = below < node.count() && separator_at(node, below) == key;
    ASSERT_EQ(node.route_before(key), below);
    ASSERT_EQ(node.route(key), below + (equal ? 1 : 0));
  }
}

INSTANTIATE_TEST_SUITE_P(AllPagesAndKeys, InnerModelTest,
                         ::testing::Combine(::testing::ValuesIn(kPageSizesOfModels),
                                            ::testing::ValuesIn(kKeyShapes)));

TEST(InnerNode, AscendingAndDescendingSeparatorsFillNodes) {
  constexpr std::uint64_t kSeparators = 8000;
  for (const std::uint32_t page_size : {4096U, 16384U}) {
    InnerRow ascending(page_size, 0);
    InnerRow descending(page_size, 0);
    for (std::uint64_t i = 1; i <= kSeparators; ++i) {
      ascending.insert(big_endian(i), i);
      descending.insert(big_endian(10000 - i), i);
    }
    // A node at the edge is full of whole separators; when it is split they get a prefix, which
    // frees space that the stream never uses. Two more nodes: the last one, and rounding.
    const std::size_t full = node_capacity_bytes(page_size) / (sizeof(InnerSlot) + 8);
    EXPECT_LE(ascending.node_count(), kSeparators / (full - 2) + 2);
    EXPECT_LE(descending.node_count(), kSeparators / (full - 2) + 2);
  }
}

TEST(InnerNode, SwipsAreAlignedAndBeyondTheCountStayInThePage) {
  const PageMemory page(65536);
  InnerNode node = page.inner();
  node.init(PageId{1}, kTree, 1, {}, std::nullopt, 5);
  for (SlotIndex child = 0; child < 70000; ++child) {
    ASSERT_EQ(node.swip_offset(child) % 8, 0U);
    ASSERT_LE(node.swip_offset(child) + 8, page.size());
  }
  EXPECT_EQ(node.swip_at(0), 5U);
  node.set_swip(0, 6);
  EXPECT_EQ(node.swip_at(0), 6U);
}

TEST(InnerNode, SplitsTheLongestSeparators) {
  Random random(palimpsest::test::seed());
  for (const std::uint32_t page_size : kPageSizes) {
    for (int round = 0; round < palimpsest::test::repeats(100); ++round) {
      InnerRow row(page_size, 1);
      ChildMap seen;
      for (std::uint64_t i = 0; i < 20; ++i) {
        std::string key =
            random.one_in(3) ? random_bytes(random, 3) : std::string(key_bytes_max(page_size), 'k');
        key[random.one_in(2) ? 0 : key.size() - 1] = static_cast<char>(random());
        if (seen.emplace(key, i).second) {
          row.insert(key, i);
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

}  // namespace
}  // namespace palimpsest::btree::test
