#include "btree/node/node_validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/file_format.h"
#include "base/random.h"
#include "btree/node/node_split.h"
#include "tests/btree/node_test_support.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::btree::test {
namespace {

using ::testing::HasSubstr;

/// A leaf with fences "k1".."k9" and ten records, changed by each test.
class ValidateTest : public ::testing::Test {
 protected:
  ValidateTest() {
    leaf_.init(PageId{3}, TreeId{7}, "k1", "k9");
    for (SlotIndex i = 0; i < 10; ++i) {
      EXPECT_TRUE(leaf_.insert(i, "k5" + big_endian(i), "value"));
    }
    inner_.init(PageId{4}, TreeId{7}, 1, "k1", "k9", 77);
    for (SlotIndex i = 0; i < 10; ++i) {
      EXPECT_TRUE(inner_.insert(i, "k5" + big_endian(i), 100 + i));
    }
    EXPECT_TRUE(sound(leaf_));
    EXPECT_TRUE(sound(inner_));
  }

  template <class T>
  static void put(const PageMemory& page, std::size_t offset, T value) {
    std::memcpy(page.data() + offset, &value, sizeof value);
  }
  static constexpr std::size_t node_field(std::size_t offset) { return kNodeHeaderOffset + offset; }
  static constexpr std::size_t leaf_slot(SlotIndex i, std::size_t offset) {
    return kSlotsOffset + i * sizeof(LeafSlot) + offset;
  }
  static std::string reason(const PageMemory& page) {
    return validate_node(page.bytes()).value_or("accepted");
  }

  PageMemory leaf_page_{4096};
  PageMemory inner_page_{4096};
  LeafNode leaf_ = leaf_page_.leaf();
  InnerNode inner_ = inner_page_.inner();
};

TEST_F(ValidateTest, RefusesOtherSizesAndKinds) {
  EXPECT_TRUE(validate_node({leaf_page_.data(), 4095}));
  EXPECT_TRUE(validate_node({leaf_page_.data(), 2048}));
  put<std::uint8_t>(leaf_page_, offsetof(buffer::PageHeader, type), 3);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("not a tree node"));
  put<std::uint8_t>(leaf_page_, offsetof(buffer::PageHeader, type), 2);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("does not suit"));
}

TEST_F(ValidateTest, RefusesWrongLevelsVersionsAndReservedBytes) {
  put<std::uint8_t>(inner_page_, node_field(offsetof(NodeHeader, level)), 64);
  EXPECT_THAT(reason(inner_page_), HasSubstr("level 64"));
  put<std::uint64_t>(leaf_page_, offsetof(buffer::PageHeader, gsn), kCounterMax + 1);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("GSN 4611686018427387905"));
  put<std::uint8_t>(leaf_page_, node_field(offsetof(NodeHeader, flags)), 2);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("reserved"));
  put<std::uint16_t>(leaf_page_, offsetof(buffer::PageHeader, format_version), 9);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("format version 9"));
}

TEST_F(ValidateTest, RefusesWrongFencesAndPrefix) {
  put<std::uint16_t>(leaf_page_, node_field(offsetof(NodeHeader, prefix_len)), 0);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("prefix of 0 bytes"));
  put<std::uint16_t>(leaf_page_, node_field(offsetof(NodeHeader, lower_len)), 513);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("over the limit"));
  put<char>(inner_page_, 4096 - 1, '9');
  EXPECT_THAT(reason(inner_page_), HasSubstr("not below the upper fence"));
}

TEST_F(ValidateTest, RefusesCountsAndHeapBeyondThePage) {
  put<std::uint16_t>(leaf_page_, node_field(offsetof(NodeHeader, count)), 5000);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("do not fit the page"));
  put<std::uint32_t>(inner_page_, node_field(offsetof(NodeHeader, heap_begin)), 0xFFFFFFFF);
  EXPECT_THAT(reason(inner_page_), HasSubstr("do not fit the page"));
}

TEST_F(ValidateTest, RefusesRecordsOutsideTheHeapOrInEachOther) {
  put<std::uint16_t>(leaf_page_, leaf_slot(3, offsetof(LeafSlot, offset)), 100);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("not in the heap"));
  const auto offset =
      load_once<std::uint16_t>(leaf_page_.data() + leaf_slot(2, offsetof(LeafSlot, offset)));
  put<std::uint16_t>(leaf_page_, leaf_slot(3, offsetof(LeafSlot, offset)), offset);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("overlap"));
}

TEST_F(ValidateTest, RefusesWrongLengths) {
  put<std::uint32_t>(inner_page_, node_field(offsetof(NodeHeader, heap_used)), 7);
  EXPECT_THAT(reason(inner_page_), HasSubstr("heap_used is 7"));
  put<std::uint16_t>(leaf_page_, leaf_slot(3, offsetof(LeafSlot, value_len)), 2000);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("record of"));
  put<std::uint16_t>(leaf_page_, leaf_slot(1, offsetof(LeafSlot, flags)), 0x80);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("slot 1: flags 0x80"));
  put<std::uint16_t>(leaf_page_, leaf_slot(1, offsetof(LeafSlot, flags)), kHasEntry);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("slot 1: flags 0x8000"))
      << "means something in memory only";
}

TEST_F(ValidateTest, RefusesKeysOutOfOrderOrOutsideTheFences) {
  leaf_.init(PageId{3}, TreeId{7}, "b", std::nullopt);
  ASSERT_TRUE(leaf_.insert(0, "c", ""));
  ASSERT_TRUE(leaf_.insert(0, "d", ""));
  EXPECT_THAT(reason(leaf_page_), HasSubstr("slot 1: not above"));
  leaf_.init(PageId{3}, TreeId{7}, "b", "q");
  ASSERT_TRUE(leaf_.insert(0, "b", ""));
  EXPECT_EQ(reason(leaf_page_), "accepted");
  put<char>(leaf_page_, 4096 - 1, 'c');
  EXPECT_THAT(reason(leaf_page_), HasSubstr("below the lower fence"));
  put<char>(leaf_page_, 4096 - 1, 'a');
  put<char>(leaf_page_, 4096 - 2, 'b');
  EXPECT_THAT(reason(leaf_page_), HasSubstr("not below the upper fence"));
}

TEST_F(ValidateTest, RefusesTheSameKeyTwice) {
  leaf_.init(PageId{3}, TreeId{7}, "b", std::nullopt);
  ASSERT_TRUE(leaf_.insert(0, "c", ""));
  ASSERT_TRUE(leaf_.insert(1, "c", ""));
  EXPECT_THAT(reason(leaf_page_), HasSubstr("slot 1: not above"));
}

TEST_F(ValidateTest, RefusesASeparatorAtTheLowerFence) {
  inner_.init(PageId{4}, TreeId{7}, 1, "b", std::nullopt, 77);
  ASSERT_TRUE(inner_.insert(0, "c", 78));
  EXPECT_EQ(reason(inner_page_), "accepted");
  put<char>(inner_page_, 4096 - 1, 'c');
  EXPECT_THAT(reason(inner_page_), HasSubstr("below the lower fence"));
}

TEST_F(ValidateTest, RefusesWrongHeadsAndHints) {
  put<std::uint32_t>(leaf_page_, node_field(offsetof(NodeHeader, hint) + 20), 1);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("hint 5"));
  put<std::uint32_t>(leaf_page_, leaf_slot(4, offsetof(LeafSlot, head)), 1);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("slot 4: head"));
}

TEST_F(ValidateTest, RefusesAWrongHeadSkip) {
  EXPECT_GT(leaf_.head_skip(), 0U);
  put<std::uint16_t>(leaf_page_, node_field(offsetof(NodeHeader, head_skip)), 5000);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("bytes skipped"));
  put<std::uint16_t>(leaf_page_, node_field(offsetof(NodeHeader, head_skip)), 9);
  EXPECT_THAT(reason(leaf_page_), HasSubstr("bytes skipped"));
  put<std::uint16_t>(inner_page_, node_field(offsetof(NodeHeader, head_skip)), 2);
  EXPECT_THAT(reason(inner_page_), HasSubstr("head"));
  inner_.init(PageId{4}, TreeId{7}, 1, "k1", "k9", 77);
  put<std::uint16_t>(inner_page_, node_field(offsetof(NodeHeader, head_skip)), 1);
  EXPECT_THAT(reason(inner_page_), HasSubstr("empty node"));
}

TEST_F(ValidateTest, AsksTheCallerAboutSwips) {
  const SwipRule rule{[](const void* context, std::uint64_t swip) noexcept {
                        return swip != *static_cast<const std::uint64_t*>(context);
                      },
                      nullptr};
  for (const std::uint64_t refused : {77U, 100U, 109U}) {
    const SwipRule refusing{rule.plausible, &refused};
    EXPECT_THAT(validate_node(inner_page_.bytes(), refusing).value_or(""), HasSubstr("swip"));
  }
  const std::uint64_t absent = 5;
  EXPECT_FALSE(validate_node(inner_page_.bytes(), {rule.plausible, &absent}));
}

TEST_F(ValidateTest, AuditFindsBytesLeftBehind) {
  put<char>(leaf_page_, 2000, 'x');
  EXPECT_EQ(reason(leaf_page_), "accepted");
  EXPECT_THAT(audit_node(leaf_page_.bytes()).value_or(""), HasSubstr("free byte at 2000"));
}

TEST_F(ValidateTest, ComparesAChildWithItsParent) {
  PageMemory child_page(4096);
  LeafNode child = child_page.leaf();
  const std::string low = "k5" + big_endian(2);
  const std::string high = "k5" + big_endian(3);
  child.init(PageId{5}, TreeId{7}, low, high);
  EXPECT_FALSE(validate_child(inner_, 3, child_page.bytes()));
  EXPECT_THAT(validate_child(inner_, 2, child_page.bytes()).value_or(""), HasSubstr("lower fence"));
  child.init(PageId{5}, TreeId{7}, low, std::nullopt);
  EXPECT_THAT(validate_child(inner_, 3, child_page.bytes()).value_or(""), HasSubstr("upper fence"));
  child.init(PageId{5}, TreeId{8}, low, high);
  EXPECT_THAT(validate_child(inner_, 3, child_page.bytes()).value_or(""), HasSubstr("tree 8"));
  child_page.inner().init(PageId{5}, TreeId{7}, 1, low, high, 1);
  EXPECT_THAT(validate_child(inner_, 3, child_page.bytes()).value_or(""), HasSubstr("level 1"));
}

TEST_F(ValidateTest, PrintsEveryRecord) {
  const std::string text = print_node(leaf_page_.bytes());
  EXPECT_THAT(text, HasSubstr("leaf page 3 tree 7 level 0: 10 slots"));
  EXPECT_THAT(text, HasSubstr("prefix \"k\""));
  EXPECT_THAT(text, HasSubstr("\\x09\" = 5 bytes \"value\""));
  EXPECT_THAT(print_node(inner_page_.bytes()), HasSubstr("child 0x6d"));
}

/// Calls every function that is marked [optimistic].
std::uint64_t read_optimistically(const std::byte* page, std::uint32_t page_size, Random& random) {
  std::uint64_t seen = 0;
  const auto touch = [&seen](ByteView bytes) {
    for (const char byte : bytes) {
      seen += static_cast<unsigned char>(byte);
    }
  };
  KeyBuffer key;
  const LeafView leaf(page, page_size);
  const InnerView inner(page, page_size);
  touch(leaf.lower_fence());
  touch(leaf.upper_fence());
  touch(leaf.prefix());
  seen += leaf.level() + leaf.count() + inner.child_count() + (leaf.is_leaf() ? 1U : 0U) +
          raw(leaf.page_id()) + raw(leaf.tree_id());
  std::string wanted = random_bytes(random, random.below(12));
  for (int i = 0; i < 8; ++i) {
    if (random.one_in(3)) {
      wanted.insert(0, leaf.prefix());
    }
    seen += leaf.find(wanted).slot + inner.route(wanted) + inner.route_before(wanted) +
            (leaf.covers(wanted) ? 1U : 0U);
    const auto slot = static_cast<SlotIndex>(random.one_in(2) ? random.below(leaf.count() + 2)
                                                              : random.below(70000));
    touch(leaf.suffix(slot));
    touch(leaf.value(slot));
    leaf.copy_key(slot, key);
    touch(key.view());
    touch(inner.suffix(slot));
    inner.copy_separator(slot, key);
    inner.copy_child_lower(slot, key);
    seen += inner.copy_child_upper(slot, key) ? 1U : 0U;
    touch(key.view());
    seen += leaf.flags(slot) + inner.swip_at(slot) + inner.swip_offset(slot);
    wanted = std::string(inner.suffix(slot).substr(0, 20));
  }
  return seen;
}

TEST(TornPages, ReadingGarbageStaysInThePage) {
  Random random(palimpsest::test::seed());
  std::uint64_t seen = 0;
  for (int round = 0; round < palimpsest::test::repeats(20000); ++round) {
    const PageMemory page(random.one_in(10) ? kPageSizes[random.below(5)] : 4096);
    // Small values pass more of the bounds checks than uniform bytes do.
    std::uint64_t mask = ~std::uint64_t{0};
    if (random.one_in(2)) {
      mask = random();
      mask &= random();
    }
    for (std::uint32_t at = 0; at < page.size(); at += 8) {
      const std::uint64_t word = random() & mask;
      std::memcpy(page.data() + at, &word, 8);
    }
    seen += read_optimistically(page.data(), page.size(), random);
  }
  EXPECT_NE(seen, 0U);
}

TEST(TornPages, ReadingHalfOfOnePageAndHalfOfAnotherStaysInThePage) {
  Random random(palimpsest::test::seed());
  std::uint64_t seen = 0;
  for (int round = 0; round < palimpsest::test::repeats(2000); ++round) {
    const std::uint32_t page_size = kPageSizes[random.below(2)];
    const PageMemory one(page_size);
    const PageMemory two(page_size);
    const KeyShape shape = kKeyShapes[random.below(std::size(kKeyShapes))];
    one.leaf().init(PageId{1}, TreeId{1}, {}, std::nullopt);
    two.inner().init(PageId{1}, TreeId{1}, 1, {}, std::nullopt, random());
    for (int i = 0; i < 40; ++i) {
      const std::string key = random_key(random, shape, page_size);
      LeafNode leaf = one.leaf();
      InnerNode inner = two.inner();
      std::ignore = leaf.insert(leaf.find(key).slot, key, random_bytes(random, random.below(100)));
      if (!inner.find(key).found) {
        std::ignore = inner.insert(inner.find(key).slot, key, random());
      }
    }
    for (int cut = 0; cut < 10; ++cut) {
      // Mostly within headers and slots, where lengths and offsets are.
      const std::size_t at = random.below(random.one_in(2) ? page_size : 400);
      const std::size_t length = random.below(page_size - at);
      std::memcpy(one.data() + at, two.data() + at, length);
      seen += read_optimistically(one.data(), page_size, random);
      std::swap_ranges(one.data() + at, one.data() + at + length, two.data() + at);
    }
  }
  EXPECT_NE(seen, 0U);
}

}  // namespace
}  // namespace palimpsest::btree::test
