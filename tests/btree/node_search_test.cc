// Searches within nodes against std::lower_bound, for keys of all shapes, and on torn pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "btree/node/key_bytes.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/last_page.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::btree::test {
namespace {

constexpr TreeId kTree{7};

/// Some numbers of four bytes, as in keys of tables: the heads are mostly equal.
std::string composite_key(Random& random) {
  std::string key;
  const std::uint64_t columns = random.between(1, 4);
  for (std::uint64_t i = 0; i < columns; ++i) {
    key += big_endian(random.below(i == 2 ? 2000 : 9)).substr(4);
  }
  return key;
}

std::string any_key(Random& random, std::uint32_t page_size, std::optional<KeyShape> shape) {
  return shape ? random_key(random, *shape, page_size) : composite_key(random);
}

/// A copy of exactly the key's size, so that AddressSanitizer detects a read beyond it.
class ExactKey {
 public:
  explicit ExactKey(const std::string& key) : bytes_(key.begin(), key.end()) {
    bytes_.shrink_to_fit();
  }
  [[nodiscard]] ByteView view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::vector<char> bytes_;
};

/// A leaf and an inner node with the same keys, between fences that may be missing.
struct Nodes {
  Nodes(Random& random, std::uint32_t page_size, std::optional<KeyShape> shape)
      : leaf_page(page_size), inner_page(page_size) {
    std::vector<std::string> fences{any_key(random, page_size, shape),
                                    any_key(random, page_size, shape)};
    std::ranges::sort(fences);
    const bool is_bounded = fences[0] < fences[1] && random.one_in(2);
    lower = random.one_in(4) ? std::string() : fences[0];
    upper = is_bounded ? std::optional(fences[1]) : std::nullopt;
    const std::optional<ByteView> end = upper ? std::optional<ByteView>(*upper) : std::nullopt;
    leaf_page.leaf().init(PageId{1}, kTree, lower, end);
    inner_page.inner().init(PageId{2}, kTree, 1, lower, end, 1);
    const std::uint64_t wanted = random.below(300);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const std::string key = any_key(random, page_size, shape);
      if (!covers(key) || key == lower || std::ranges::binary_search(keys, key)) {
        continue;
      }
      LeafNode leaf = leaf_page.leaf();
      InnerNode inner = inner_page.inner();
      if (!leaf.can_insert(key.size(), 0) || !inner.can_insert(key.size())) {
        break;
      }
      EXPECT_TRUE(leaf.insert(leaf.find(key).slot, key, {}));
      EXPECT_TRUE(inner.insert(inner.find(key).slot, key, i));
      keys.insert(std::ranges::lower_bound(keys, key), key);
    }
  }

  [[nodiscard]] bool covers(const std::string& key) const {
    return lower <= key && (!upper || key < *upper);
  }

  PageMemory leaf_page;
  PageMemory inner_page;
  std::string lower;
  std::optional<std::string> upper;
  std::vector<std::string> keys;
};

void expect_found_as_sorted(const Nodes& nodes, const std::string& text) {
  const ExactKey exact(text);
  const ByteView key = exact.view();
  const LeafView leaf = nodes.leaf_page.leaf();
  const InnerView inner = nodes.inner_page.inner();
  const auto at = std::ranges::lower_bound(nodes.keys, text);
  const auto slot = static_cast<SlotIndex>(at - nodes.keys.begin());
  const bool found = at != nodes.keys.end() && *at == text;
  ASSERT_EQ(leaf.find(key).slot, slot);
  ASSERT_EQ(leaf.find(key).found, found);
  ASSERT_EQ(leaf.has_key_at(slot, key), found);
  ASSERT_FALSE(leaf.has_key_at(slot + 1, key));
  ASSERT_EQ(inner.find(key).slot, slot);
  ASSERT_EQ(inner.find(key).found, found);
  ASSERT_EQ(inner.mostly_covers(key), nodes.covers(text));
  ASSERT_EQ(inner.covers(key), nodes.covers(text));
  if (nodes.covers(text)) {
    ASSERT_EQ(leaf.find_within(key).slot, slot);
    ASSERT_EQ(leaf.find_within(key).found, found);
    leaf.prefetch_slots(key);
    inner.prefetch_route(key);
    const SearchResult in_steps = leaf.find_within(key, leaf.likely_slot(key, 1));
    ASSERT_EQ(in_steps.slot, slot);
    ASSERT_EQ(in_steps.found, found);
    ASSERT_EQ(inner.route_within(key), slot + (found ? 1 : 0));
  }
}

void search_all(Random& random, std::uint32_t page_size, std::optional<KeyShape> shape) {
  const Nodes nodes(random, page_size, shape);
  for (const std::string& key : nodes.keys) {
    ASSERT_NO_FATAL_FAILURE(expect_found_as_sorted(nodes, key));
  }
  for (int i = 0; i < 200; ++i) {
    std::string key = any_key(random, page_size, shape);
    if (random.one_in(4)) {
      key = key.substr(0, random.between(1, key.size()));
    } else if (random.one_in(4)) {
      key.push_back(static_cast<char>(random.below(2)));
    }
    ASSERT_NO_FATAL_FAILURE(expect_found_as_sorted(nodes, key));
  }
  ASSERT_NO_FATAL_FAILURE(expect_found_as_sorted(nodes, nodes.lower));
}

TEST(NodeSearch, FindsWhatASortedListDoes) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < palimpsest::test::repeats(300); ++round) {
    const std::uint32_t page_size = kPageSizes[random.below(std::size(kPageSizes))];
    ASSERT_NO_FATAL_FAILURE(search_all(random, page_size, std::nullopt));
    for (const KeyShape shape : kKeyShapes) {
      if (shape != KeyShape::longest || round % 10 == 0) {
        ASSERT_NO_FATAL_FAILURE(search_all(random, page_size, shape));
      }
    }
  }
}

// Header, slots and heap may be of different moments, or of another page.
TEST(NodeSearch, StaysWithinTornPages) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < palimpsest::test::repeats(3000); ++round) {
    const std::uint32_t page_size = random.one_in(2) ? 4096 : 65536;
    Nodes nodes(random, page_size, kKeyShapes[random.below(std::size(kKeyShapes))]);
    for (PageMemory* page : {&nodes.leaf_page, &nodes.inner_page}) {
      const std::uint64_t changes = random.between(1, 40);
      for (std::uint64_t i = 0; i < changes; ++i) {
        const std::uint32_t place =
            random.one_in(2)
                ? kNodeHeaderOffset + static_cast<std::uint32_t>(random.below(sizeof(NodeHeader)))
                : static_cast<std::uint32_t>(random.below(page_size));
        page->data()[place] = static_cast<std::byte>(random());
      }
    }
    const ExactKey key(random_bytes(random, random.between(1, 20)));
    const LeafView leaf = nodes.leaf_page.leaf();
    const InnerView inner = nodes.inner_page.inner();
    ASSERT_LE(leaf.find(key.view()).slot, leaf.count());
    ASSERT_LE(leaf.find_within(key.view()).slot, leaf.count());
    leaf.prefetch_slots(key.view());
    const SlotIndex likely = leaf.likely_slot(key.view(), 256);
    ASSERT_LE(likely, leaf.count());
    ASSERT_LE(leaf.find_within(key.view(), likely).slot, leaf.count());
    const auto any = static_cast<SlotIndex>(random.below(5000));
    ASSERT_LE(leaf.find_within(key.view(), any).slot, std::max(any, leaf.count()));
    static_cast<void>(leaf.has_key_at(any, key.view()));
    inner.prefetch_route(key.view());
    ASSERT_LE(inner.route(key.view()), inner.count());
    ASSERT_LE(inner.route_within(key.view()), inner.count());
    static_cast<void>(inner.mostly_covers(key.view()));
  }
}

std::uint16_t& lower_len_of(const palimpsest::test::LastPage& page) {
  std::byte* const at = page.begin() + kNodeHeaderOffset + offsetof(NodeHeader, lower_len);
  return *static_cast<std::uint16_t*>(static_cast<void*>(at));
}

// The parts of a fence may be read at different moments, too.
TEST(NodeSearch, FencesThatChangeWhileTheyAreReadStayWithinThePage) {
  constexpr std::uint32_t kPageSize = 4096;
  const palimpsest::test::LastPage page(kPageSize);
  InnerNode inner(page.begin(), kPageSize);
  const std::string prefix(key_bytes_max(kPageSize) - 1, 'p');
  inner.init(PageId{1}, kTree, 1, prefix + "a", prefix + "c", 1);
  const std::uint16_t length = lower_len_of(page);
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    const std::atomic_ref<std::uint16_t> changing(lower_len_of(page));
    while (!is_over.load(std::memory_order_relaxed)) {
      changing.store(0, std::memory_order_relaxed);
      changing.store(length, std::memory_order_relaxed);
    }
  });
  const std::string key = prefix + "b";
  int covered = 0;
  for (int i = 0; i < palimpsest::test::repeats(1'000'000); ++i) {
    covered += inner.mostly_covers(key) ? 1 : 0;
  }
  is_over = true;
  writer.join();
  EXPECT_GT(covered, 0);
}

TEST(KeyBytes, OrderOfWordsIsThatOfBytes) {
  Random random(palimpsest::test::seed());
  for (int i = 0; i < palimpsest::test::repeats(200000); ++i) {
    const KeyShape shape = random.one_in(2) ? KeyShape::nested : KeyShape::short_bytes;
    const ExactKey a(random_key(random, shape, 4096));
    const ExactKey b(random_key(random, shape, 4096));
    const ByteView x = a.view();
    const ByteView y = b.view();
    const int order = x == y ? 0 : (x < y ? -1 : 1);
    ASSERT_EQ(compare_suffixes(x, y), order);
    if (x.size() == y.size()) {
      ASSERT_EQ(equal_bytes(x.data(), y.data(), x.size()), x == y);
      if (head_of(x) == head_of(y)) {
        ASSERT_EQ(equal_after_head(x.data(), y.data(), x.size()), x == y);
      }
    }
    const std::size_t skipped = random.below(x.size() + 1);
    ASSERT_EQ(word_after(x, skipped), word_of(x.data() + skipped, x.size() - skipped));
  }
}

}  // namespace
}  // namespace palimpsest::btree::test
