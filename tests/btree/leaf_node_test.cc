#include "btree/node/leaf_node.h"

#include <gtest/gtest.h>

#include <algorithm>
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

/// A row of neighbouring leaves that together cover all keys, as the lowest level of a tree does.
class LeafRow {
 public:
  /// `audited`: every leaf is audited after every change; slow for many records.
  explicit LeafRow(std::uint32_t page_size, bool audited = true)
      : page_size_(page_size), audited_(audited) {
    leaves_.emplace_back(page_size);
    leaves_[0].leaf().init(PageId{1}, kTree, {}, std::nullopt);
  }

  [[nodiscard]] std::size_t leaf_count() const { return leaves_.size(); }
  [[nodiscard]] LeafNode leaf(std::size_t i) const { return leaves_[i].leaf(); }

  [[nodiscard]] std::size_t position_of(ByteView key) const {
    std::size_t low = 0;
    std::size_t high = leaves_.size();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (leaf(middle).lower_fence() <= key ? low : high) = middle;
    }
    EXPECT_TRUE(leaf(low).covers(key));
    return low;
  }

  /// Inserts or replaces; true if the key was new.
  bool put(const std::string& key, const std::string& value) {
    const std::size_t at = position_of(key);
    LeafNode node = leaf(at);
    const SearchResult place = node.find(key);
    if (place.found) {
      if (node.replace_value(place.slot, value)) {
        EXPECT_TRUE(sound(node));
        return false;
      }
      node.remove(place.slot);
    }
    insert(at, key, value);
    return !place.found;
  }

  bool erase(const std::string& key) {
    const std::size_t at = position_of(key);
    const SearchResult place = leaf(at).find(key);
    if (!place.found) {
      return false;
    }
    leaf(at).remove(place.slot);
    EXPECT_TRUE(sound(leaf(at)));
    if (at + 1 < leaves_.size()) {
      merge_if_possible(at);
    }
    return true;
  }

  void split_anywhere(std::size_t at) {
    if (leaf(at).count() >= 2) {
      SplitPlan plan;
      plan_split(leaf(at), plan);
      split(at, plan);
    }
  }

  /// Compares all leaves with the model.
  void expect_equals(const std::map<std::string, std::string>& model) const {
    auto expected = model.begin();
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      const LeafNode node = leaf(i);
      ASSERT_TRUE(sound(node));
      ASSERT_EQ(i == 0, node.lower_fence().empty());
      ASSERT_EQ(i + 1 == leaves_.size(), node.upper_is_infinite());
      if (i > 0) {
        ASSERT_EQ(leaf(i - 1).upper_fence(), node.lower_fence());
      }
      for (SlotIndex slot = 0; slot < node.count(); ++slot, ++expected) {
        ASSERT_NE(expected, model.end());
        ASSERT_EQ(key_at(node, slot), expected->first);
        ASSERT_EQ(node.value(slot), expected->second);
        const SearchResult found = node.find(expected->first);
        ASSERT_TRUE(found.found);
        ASSERT_EQ(found.slot, slot);
      }
    }
    ASSERT_EQ(expected, model.end());
  }

  /// Bytes in use by all leaves, divided by their capacity.
  [[nodiscard]] double fill() const {
    double used = 0;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      used += leaf(i).capacity_bytes() - leaf(i).free_bytes();
    }
    return used / (static_cast<double>(leaves_.size()) * node_capacity_bytes(page_size_));
  }

 private:
  void insert(std::size_t at, const std::string& key, const std::string& value) {
    LeafNode node = leaf(at);
    const SlotIndex slot = node.find(key).slot;
    const bool fits = node.can_insert(key.size(), value.size());
    ASSERT_EQ(node.insert(slot, key, value), fits);
    if (fits) {
      ASSERT_TRUE(!audited_ || sound(node));
      return;
    }
    SplitPlan plan;
    plan_split(node, slot, key, value.size(), plan);
    split(at, plan);
    ASSERT_EQ(plan.new_goes_left, key < plan.separator.view());
    LeafNode target = leaf(plan.new_goes_left ? at : at + 1);
    ASSERT_TRUE(target.insert(target.find(key).slot, key, value)) << "a record fits after a split\n"
                                                                  << print_node(target.bytes());
    ASSERT_TRUE(sound(target));
  }

  void split(std::size_t at, const SplitPlan& plan) {
    const SlotIndex count = leaf(at).count();
    leaves_.emplace(leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1, page_size_);
    split_into(leaf(at), leaf(at + 1), PageId{++last_page_}, plan);
    EXPECT_EQ(leaf(at).count(), plan.cut);
    EXPECT_EQ(leaf(at).count() + leaf(at + 1).count(), count);
    EXPECT_EQ(leaf(at).upper_fence(), plan.separator.view());
    EXPECT_EQ(raw(leaf(at + 1).page_id()), last_page_);
    EXPECT_EQ(leaf(at + 1).tree_id(), kTree);
    EXPECT_TRUE(sound(leaf(at)));
    EXPECT_TRUE(sound(leaf(at + 1)));
  }

  void merge_if_possible(std::size_t at) {
    const std::uint32_t expected = merged_bytes(leaf(at), leaf(at + 1));
    EXPECT_EQ(can_merge(leaf(at), leaf(at + 1)), expected <= leaf(at).capacity_bytes());
    if (expected > leaf(at).capacity_bytes()) {
      return;
    }
    merge_into_left(leaf(at), leaf(at + 1));
    EXPECT_EQ(leaf(at).capacity_bytes() - leaf(at).free_bytes(), expected);
    EXPECT_TRUE(sound(leaf(at)));
    leaves_.erase(leaves_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }

  std::uint32_t page_size_;
  bool audited_;
  std::uint64_t last_page_ = 1;
  std::vector<PageMemory> leaves_;
};

class LeafModelTest : public ::testing::TestWithParam<std::tuple<std::uint32_t, KeyShape>> {};

TEST_P(LeafModelTest, BehavesLikeAMap) {
  const auto [page_size, shape] = GetParam();
  Random random(palimpsest::test::seed());
  LeafRow row(page_size);
  std::map<std::string, std::string> model;
  const int steps = page_size <= 8192 ? 3000 : 1200;
  for (int step = 0; step < steps && !HasFailure(); ++step) {
    const bool shrinking = step / (steps / 6) % 3 == 2;
    const std::string key = random_key(random, shape, page_size);
    if (random.below(10) < (shrinking ? 2U : 7U)) {
      const std::string value = random_value(random, key.size(), page_size);
      ASSERT_EQ(row.put(key, value), !model.contains(key));
      model[key] = value;
    } else if (shrinking || random.one_in(2)) {
      // An existing key most of the time.
      const auto at = model.lower_bound(key);
      const std::string victim = at == model.end() ? key : at->first;
      ASSERT_EQ(row.erase(victim), model.erase(victim) == 1);
    } else if (random.one_in(20)) {
      row.split_anywhere(row.position_of(key));
    } else {
      const LeafNode node = row.leaf(row.position_of(key));
      ASSERT_EQ(node.find(key).found, model.contains(key));
    }
    if (step % 300 == 299) {
      row.expect_equals(model);
    }
  }
  row.expect_equals(model);
}

TEST_P(LeafModelTest, LowerBoundAgreesWithAMapForKeysInsideAndOutsideTheFences) {
  const auto [page_size, shape] = GetParam();
  Random random(palimpsest::test::seed());
  LeafRow row(page_size);
  std::map<std::string, std::string> model;
  for (int i = 0; i < palimpsest::test::repeats(600); ++i) {
    const std::string key = random_key(random, shape, page_size);
    row.put(key, "v");
    model[key] = "v";
  }
  for (int i = 0; i < palimpsest::test::repeats(2000); ++i) {
    const std::string key = random.one_in(4) ? random_bytes(random, random.below(6))
                                             : random_key(random, shape, page_size);
    const LeafNode node = row.leaf(random.below(row.leaf_count()));
    SlotIndex expected = 0;
    while (expected < node.count() && key_at(node, expected) < key) {
      ++expected;
    }
    ASSERT_EQ(node.lower_bound(key), expected) << printable(key) << "\n"
                                               << print_node(node.bytes());
    ASSERT_EQ(node.find(key).found, expected < node.count() && key_at(node, expected) == key);
  }
}

TEST_P(LeafModelTest, BuildsFromSortedInput) {
  const auto [page_size, shape] = GetParam();
  Random random(palimpsest::test::seed());
  std::map<std::string, std::string> model;
  for (int i = 0; i < 1500; ++i) {
    const std::string key = random_key(random, shape, page_size);
    model[key] = random_value(random, key.size(), page_size);
  }
  std::vector<PageMemory> leaves;
  std::string lower;
  auto next = model.begin();
  double fill = 0;
  bool more = true;
  while (more) {
    leaves.emplace_back(page_size);
    LeafNode leaf = leaves.back().leaf();
    leaf.begin_build(PageId{leaves.size()}, kTree, lower);
    while (next != model.end() && leaf.append(next->first, next->second)) {
      ++next;
    }
    ASSERT_TRUE(leaf.count() > 0 || next == model.end());
    if (leaf.count() == 0) {
      leaf.init(PageId{leaves.size()}, kTree, lower, std::nullopt);
      break;
    }
    KeyBuffer upper;
    more =
        leaf.seal(next == model.end() ? std::nullopt : std::optional<ByteView>(next->first), upper);
    if (more) {
      ASSERT_EQ(leaf.upper_fence(), upper.view());
      ASSERT_TRUE(next == model.end() || upper.view() <= next->first);
      fill += 1.0 - static_cast<double>(leaf.free_bytes()) / leaf.capacity_bytes();
    }
    ASSERT_TRUE(sound(leaf));
    lower = upper.view();
  }
  auto expected = model.begin();
  for (const PageMemory& page : leaves) {
    for (SlotIndex slot = 0; slot < page.leaf().count(); ++slot, ++expected) {
      ASSERT_EQ(key_at(page.leaf(), slot), expected->first);
      ASSERT_EQ(page.leaf().value(slot), expected->second);
    }
  }
  ASSERT_EQ(expected, model.end());
  if (leaves.size() > 10) {
    // The unused rest is less than a record, a tenth of a page on average at most.
    EXPECT_GT(fill / static_cast<double>(leaves.size()), 0.7);
  }
}

INSTANTIATE_TEST_SUITE_P(AllPagesAndKeys, LeafModelTest,
                         ::testing::Combine(::testing::ValuesIn(kPageSizesOfModels),
                                            ::testing::ValuesIn(kKeyShapes)));

class LeafFillTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint64_t kRecords = 20000;
  const std::string value_ = std::string(100, 'v');
};

TEST_P(LeafFillTest, AscendingInsertionsFillLeaves) {
  LeafRow row(GetParam(), false);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    row.put(big_endian(i), value_);
  }
  EXPECT_GT(row.fill(), 0.92);
}

TEST_P(LeafFillTest, DescendingInsertionsFillLeaves) {
  LeafRow row(GetParam(), false);
  for (std::uint64_t i = kRecords; i > 0; --i) {
    row.put(big_endian(i), value_);
  }
  EXPECT_GT(row.fill(), 0.92);
}

TEST_P(LeafFillTest, RandomInsertionsFillLeavesTwoThirds) {
  Random random(palimpsest::test::seed());
  LeafRow row(GetParam(), false);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    row.put(big_endian(random()), value_);
  }
  EXPECT_GT(row.fill(), 0.62);
}

TEST_P(LeafFillTest, AscendingStreamsInTheMiddleFillLeaves) {
  Random random(palimpsest::test::seed());
  LeafRow row(GetParam(), false);
  constexpr std::uint64_t kStreams = 10;
  std::vector<std::uint64_t> next(kStreams, 0);
  // Each stream ends in a partly filled leaf, which does not matter with many full ones.
  const std::uint64_t orders = kRecords / 10 * std::max<std::uint64_t>(1, GetParam() / 8192);
  for (std::uint64_t i = 0; i < orders; ++i) {
    const std::uint64_t stream = random.below(kStreams);
    for (int line = 0; line < 10; ++line) {
      row.put(big_endian(stream << 32 | next[stream]++), value_);
    }
  }
  EXPECT_GT(row.fill(), 0.85);
}

INSTANTIATE_TEST_SUITE_P(AllPages, LeafFillTest, ::testing::ValuesIn(kPageSizesOfModels));

TEST(LeafNode, HoldsTheLargestRecordsBesideTheLongestFences) {
  for (const std::uint32_t page_size : kPageSizes) {
    const std::size_t limit = key_bytes_max(page_size);
    const PageMemory page(page_size);
    LeafNode leaf = page.leaf();
    leaf.init(PageId{3}, kTree, std::string(limit, 'a'), std::string(limit, 'z'));
    const std::string value(record_bytes_max(page_size) - limit, 'v');
    EXPECT_TRUE(leaf.insert(0, std::string(limit, 'b'), value));
    EXPECT_TRUE(leaf.insert(1, std::string(limit, 'c'), value));
    EXPECT_TRUE(sound(leaf));
  }
}

TEST(LeafNode, SplitsTheLargestRecordsAtEveryPosition) {
  Random random(palimpsest::test::seed());
  for (const std::uint32_t page_size : kPageSizes) {
    for (int round = 0; round < palimpsest::test::repeats(200); ++round) {
      LeafRow row(page_size);
      const std::size_t limit = key_bytes_max(page_size);
      for (int i = 0; i < 12; ++i) {
        std::string key(limit - random.below(2), static_cast<char>('a' + random.below(2)));
        key[random.one_in(2) ? 0 : key.size() - 1] = static_cast<char>(random());
        const std::size_t value_len =
            random.one_in(3) ? random.below(20) : record_bytes_max(page_size) - key.size();
        row.put(key, std::string(value_len, 'v'));
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST(LeafNode, StreamsOfFewRecordsALeafFillLeavesToo) {
  for (const std::uint32_t page_size : kPageSizes) {
    LeafRow ascending(page_size, false);
    LeafRow descending(page_size, false);
    LeafRow middle(page_size, false);
    middle.put(big_endian(100000), "end");
    constexpr std::uint64_t kRecords = 400;
    const std::string value(record_bytes_max(page_size) - 8, 'v');  // three records fill a leaf
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      ascending.put(big_endian(i), value);
      descending.put(big_endian(kRecords - i), value);
      middle.put(big_endian(i), value);
    }
    EXPECT_LE(ascending.leaf_count(), kRecords / 3 + 2);
    EXPECT_LE(descending.leaf_count(), kRecords / 3 + 2);
    EXPECT_LE(middle.leaf_count(), kRecords / 3 + 3);
  }
}

TEST(LeafNode, SplitsOfStreamsFitWhateverTheSizes) {
  Random random(palimpsest::test::seed());
  for (int left = palimpsest::test::repeats(60); left > 0 && !testing::Test::HasFailure(); --left) {
    const std::uint32_t page_size = kPageSizes[random.below(2)];
    const std::size_t limit = key_bytes_max(page_size);
    const bool descending = random.one_in(2);
    const bool has_end = random.one_in(2);
    const std::size_t value_max = random.one_in(2) ? 8 : page_size / 16;
    LeafRow row(page_size);
    std::map<std::string, std::string> model;
    const auto put = [&](const std::string& key) {
      const std::string value = random_bytes(random, random.below(value_max));
      row.put(key, value);
      model[key] = value;
    };
    if (has_end) {
      put(descending ? std::string("\1") : std::string(limit, '\xff'));
    }
    for (std::uint64_t i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      // Groups of three that differ in their last byte only: fences as long as keys, with or
      // without a long prefix, depending on where the node is split.
      const std::uint64_t number = descending ? 900 - i : i;
      std::string key = big_endian(number / 3).substr(6);
      key += std::string(random.one_in(30) ? 4 : limit - 12, 'k');
      key += static_cast<char>(number % 3);
      put(key);
    }
    row.expect_equals(model);
  }
}

TEST(LeafNode, TellsAKeyFromTheSameKeyWithZerosBehind) {
  const PageMemory page(4096);
  LeafNode leaf = page.leaf();
  leaf.init(PageId{3}, kTree, {}, std::nullopt);
  std::vector<std::string> keys;
  keys.reserve(8);
  for (std::size_t zeros = 0; zeros < 8; ++zeros) {
    keys.push_back("a" + std::string(zeros, '\0'));
  }
  for (std::size_t i = keys.size(); i-- > 0;) {
    const SearchResult place = leaf.find(keys[i]);
    ASSERT_FALSE(place.found);
    ASSERT_EQ(place.slot, 0U);
    ASSERT_TRUE(leaf.insert(place.slot, keys[i], keys[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SearchResult place = leaf.find(keys[i]);
    EXPECT_TRUE(place.found);
    EXPECT_EQ(place.slot, i);
  }
  EXPECT_TRUE(sound(leaf));
}

TEST(LeafNode, KeepsFlagsThroughEveryMove) {
  const PageMemory page(4096);
  const PageMemory other(4096);
  LeafNode leaf = page.leaf();
  leaf.init(PageId{3}, kTree, {}, std::nullopt);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(leaf.insert(static_cast<SlotIndex>(i), big_endian(i), "descriptor",
                            i % 3 == 0 ? kLargeValue : kPlainRecord));
  }
  ASSERT_TRUE(leaf.replace_value(6, "another, longer descriptor"));
  leaf.set_flags(1, kLargeValue);
  SplitPlan plan;
  plan_split(leaf, plan);
  split_into(leaf, other.leaf(), PageId{4}, plan);
  merge_into_left(leaf, other.leaf());
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(leaf.flags(static_cast<SlotIndex>(i)), i % 3 == 0 || i == 1 ? 1 : 0) << i;
  }
}

TEST(LeafNode, LeavesNoDeletedBytesBehind) {
  const PageMemory page(4096);
  LeafNode leaf = page.leaf();
  leaf.init(PageId{3}, kTree, {}, std::nullopt);
  const std::string secret = "a secret value";
  for (SlotIndex i = 0; i < 30; ++i) {
    ASSERT_TRUE(leaf.insert(i, big_endian(i), i % 2 == 0 ? secret : "plain"));
  }
  for (SlotIndex i = 0; i < 15; ++i) {
    leaf.remove(i);
  }
  const ByteView all = as_view(page.data(), page.size());
  EXPECT_EQ(all.find(secret), ByteView::npos);
  EXPECT_TRUE(sound(leaf));
}

}  // namespace
}  // namespace palimpsest::btree::test
