// Log records of a tree as bytes: their sizes, their contents, and what decoding refuses.
#include "btree/log/tree_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "btree/log/tree_record_encode.h"
#include "btree/node/node_split.h"
#include "tests/btree/tree_log_support.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "versioning/version.h"

namespace palimpsest::btree::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::uint32_t kPageSize = 4096;
constexpr TreeId kTree{7};
constexpr PageId kPage{12};

RecordPlace place(ByteView key, SlotIndex slot = 3) {
  return {kTree, kPage, slot, key};
}

std::string large_value(std::uint64_t first_page) {
  const std::array<buffer::PageRun, 1> runs{{{PageId{first_page}, 2}}};
  return std::string(
      LargeValueDescriptor::make(5000, {1, first_page}, runs, kPageSize).encode().view());
}

std::string printed(const Payload& payload) {
  return print_tree_record(payload, kPageSize);
}

std::vector<std::pair<PageId, PageEffect>> pages_of(const Payload& payload) {
  std::vector<std::pair<PageId, PageEffect>> pages;
  visit_pages(parsed(payload, kPageSize),
              [&](PageId page, PageEffect effect) { pages.emplace_back(page, effect); });
  return pages;
}

/// First pages of the large values that a record takes into use or frees.
std::vector<std::pair<std::uint64_t, ExtentEffect>> extents_of(const Payload& payload) {
  std::vector<std::pair<std::uint64_t, ExtentEffect>> extents;
  visit_extents(parsed(payload, kPageSize), kPageSize,
                [&](const LargeValueDescriptor& value, ExtentEffect effect) {
                  extents.emplace_back(raw(value.runs()[0].first), effect);
                });
  return extents;
}

Payload undo_of(const Payload& payload) {
  return inverse(payload, kPageSize, PageId{99}, 5);
}

TEST(TreeRecordSize, ASmallUpdateOfALongerValueTakesTwentySixBytes) {
  const std::string key = big_endian(42);
  const std::string before(120, 'v');
  std::string after = before;
  after.replace(40, 8, "12345678");
  EXPECT_LE(encoded(LoggedUpdate{place(key), {before}, {after}}).size(), 26U);
}

TEST(TreeRecordSize, APatchHoldsChangedBytesOnly) {
  const std::string before(1000, 'v');
  std::string after = before;
  after[10] = 'a';
  after[14] = 'b';  // three equal bytes between: a separate run is shorter
  after[17] = 'c';  // two: it is not
  after[999] = 'd';
  const Payload payload = encoded(LoggedUpdate{place("key"), {before}, {after}});
  std::vector<std::pair<std::uint32_t, std::string>> runs;
  for_each_patch_run(parsed(payload, kPageSize).list, [&](const PatchRun& run) {
    std::string changed = before.substr(run.offset, run.difference.size());
    std::ranges::transform(changed, run.difference, changed.begin(), std::bit_xor());
    runs.emplace_back(run.offset, changed);
  });
  EXPECT_THAT(runs, ElementsAre(Pair(10, "a"), Pair(14, "bvvc"), Pair(999, "d")));
}

TEST(TreeRecordSize, APatchHoldsAllPlacesHoweverMany) {
  const std::string before(1000, 'v');
  for (std::size_t places = 1; places <= 40; ++places) {
    std::string after = before;
    for (std::size_t i = 0; i < places; ++i) {
      after[i * 25] = static_cast<char>('A' + i);
    }
    const Payload payload = encoded(LoggedUpdate{place("key"), {before}, {after}});
    std::string patched = before;
    std::size_t runs = 0;
    for_each_patch_run(parsed(payload, kPageSize).list, [&](const PatchRun& run) {
      ++runs;
      for (std::size_t i = 0; i < run.difference.size(); ++i) {
        patched[run.offset + i] = static_cast<char>(patched[run.offset + i] ^ run.difference[i]);
      }
    });
    EXPECT_EQ(runs, places);
    EXPECT_EQ(patched, after);
  }
}

// Bytes outside the part are not read: they may be anything.
TEST(TreeRecordSize, APatchOfAPartIsThatOfTheWhole) {
  Random random(palimpsest::test::seed());
  for (int round = 0; round < palimpsest::test::repeats(3000); ++round) {
    const std::string before = random_bytes(random, random.between(1, 300));
    const std::size_t begin = random.below(before.size());
    const std::size_t end = random.between(begin, before.size());
    std::string after = before;
    for (std::size_t at = begin; at < end; at += random.between(1, 20)) {
      after[at] = static_cast<char>(random());
    }
    std::string known = random_bytes(random, before.size());
    known.replace(begin, end - begin, before, begin, end - begin);
    const Payload whole = encoded(LoggedUpdate{place("key"), {before}, {after}});
    const LoggedUpdate part(place("key"), {known}, {after}, {begin, end});
    ASSERT_EQ(encoded(part), whole);
    std::vector<std::byte> runs(part.before_runs_bytes());
    part.put_before_runs(runs);
    std::string undone = after;
    versioning::for_each_run(
        as_view(runs.data(), runs.size()),
        [&](std::uint16_t offset, ByteView bytes) { undone.replace(offset, bytes.size(), bytes); });
    ASSERT_EQ(undone, before);
  }
}

TEST(TreeRecordSize, TheLongestRecordsAreWithinTheBounds) {
  Random random(1);
  for (const std::uint32_t page_size : kPageSizes) {
    const std::string key(key_bytes_max(page_size), 'k');
    const std::size_t value_bytes = record_bytes_max(page_size) - key.size();
    const std::string a = random_bytes(random, value_bytes);
    const std::string b = random_bytes(random, value_bytes);
    std::string every_fourth = a;
    for (std::size_t i = 0; i < a.size(); i += 4) {
      every_fourth[i] = static_cast<char>(~a[i]);
    }
    for (const std::string& after : {b, every_fourth, b.substr(1)}) {
      const Payload payload = encoded(LoggedUpdate{place(key), {a}, {after}});
      EXPECT_LE(payload.size(), max_record_change_bytes(page_size));
      static_cast<void>(parsed(payload, page_size));
    }
    // A root full of records, its fences as long as possible.
    const PageMemory left(page_size);
    const PageMemory right(page_size);
    left.leaf().init(PageId{2}, kTree, {}, std::nullopt);
    for (std::uint64_t i = 0; left.leaf().can_insert(key.size(), 8); ++i) {
      ASSERT_TRUE(left.leaf().insert(left.leaf().count(),
                                     key.substr(0, key.size() - 8) + big_endian(i), "12345678"));
    }
    SplitPlan plan;
    plan_split(left.leaf(), plan);
    split_into(left.leaf(), right.leaf(), PageId{3}, plan);
    const LoggedRootSplit split{plan, left.leaf(), right.leaf(), PageId{1}};
    EXPECT_LE(split.encoded_bytes(), max_record_bytes(page_size));
    EXPECT_GT(split.encoded_bytes(), page_size / 2);
    EXPECT_LE(max_record_change_bytes(page_size), max_record_bytes(page_size));
  }
}

TEST(TreeRecordContent, RecordChangesSayWhatTheyDid) {
  const Payload insert = encoded(LoggedInsert{place("a\nkey"), {"value"}});
  EXPECT_EQ(printed(insert), "insert tree 7 page 12 slot 3 key \"a\\x0akey\": 5 bytes \"value\"");
  EXPECT_EQ(printed(undo_of(insert)),
            "undo: erase tree 7 page 99 slot 5 key \"a\\x0akey\": "
            "0 bytes \"\"");
  const Payload patch = encoded(LoggedUpdate{place("k"), {"abcdefgh"}, {"abXdefgh"}});
  EXPECT_EQ(printed(patch), "patch tree 7 page 12 slot 3 key \"k\" @2 ^ \";\"");
  EXPECT_EQ(printed(undo_of(patch)), "undo: patch tree 7 page 99 slot 5 key \"k\" @2 ^ \";\"");
  const Payload replace =
      encoded(LoggedUpdate{place("k"), {"one two three", kGhost}, {"one 2 three"}});
  EXPECT_EQ(printed(replace),
            "replace tree 7 page 12 slot 3 key \"k\" plain ghost -> plain @4 "
            "3 bytes \"two\" -> 1 bytes \"2\"");
  EXPECT_EQ(printed(undo_of(replace)),
            "undo: replace tree 7 page 99 slot 5 key \"k\" plain -> plain ghost @4 "
            "1 bytes \"2\" -> 3 bytes \"two\"");
  const Payload mark = encoded(LoggedMark{place("k"), kPlainRecord});
  EXPECT_EQ(printed(mark), "mark tree 7 page 12 slot 3 key \"k\" plain -> plain ghost");
  EXPECT_EQ(printed(undo_of(mark)),
            "undo: mark tree 7 page 99 slot 5 key \"k\" plain ghost -> plain");
  for (const Payload& payload : {insert, patch, replace, mark}) {
    EXPECT_TRUE(parsed(payload, kPageSize).is_undoable());
    EXPECT_FALSE(parsed(undo_of(payload), kPageSize).is_undoable());
    EXPECT_THAT(pages_of(payload), ElementsAre(Pair(kPage, PageEffect::change)));
    EXPECT_THAT(extents_of(payload), IsEmpty());
  }
}

TEST(TreeRecordContent, LargeValuesAreNamedWhole) {
  const std::string a = large_value(100);
  const std::string b = large_value(200);
  using Effect = ExtentEffect;
  const Payload insert = encoded(LoggedInsert{place("k"), {a, kLargeValue}});
  EXPECT_THAT(extents_of(insert), ElementsAre(Pair(100U, Effect::allocate)));
  EXPECT_THAT(extents_of(undo_of(insert)), ElementsAre(Pair(100U, Effect::free)));
  // Descriptors are not patched, even if they differ in a few bytes only.
  const Payload update = encoded(LoggedUpdate{place("k"), {a, kLargeValue}, {b, kLargeValue}});
  EXPECT_THAT(extents_of(update),
              ElementsAre(Pair(100U, Effect::free), Pair(200U, Effect::allocate)));
  EXPECT_THAT(extents_of(undo_of(update)),
              ElementsAre(Pair(200U, Effect::free), Pair(100U, Effect::allocate)));
  EXPECT_THAT(printed(update), HasSubstr("->"));
  const Payload shrink = encoded(LoggedUpdate{place("k"), {a, kLargeValue}, {"small"}});
  EXPECT_THAT(extents_of(shrink), ElementsAre(Pair(100U, Effect::free)));
  // A ghost keeps its value until it is purged.
  EXPECT_THAT(extents_of(encoded(LoggedMark{place("k"), kLargeValue})), IsEmpty());
  const PageMemory page(kPageSize);
  page.leaf().init(kPage, kTree, {}, std::nullopt);
  ASSERT_TRUE(page.leaf().insert(0, "a", a, kLargeValue | kGhost));
  ASSERT_TRUE(page.leaf().insert(1, "b", "plain", kGhost));
  const std::vector<SlotIndex> both{0, 1};
  const Payload purge = encoded(LoggedPurge{page.leaf(), both});
  EXPECT_THAT(extents_of(purge), ElementsAre(Pair(100U, Effect::free)));
  EXPECT_THAT(printed(purge), HasSubstr("purge tree 7 page 12 changed slots 0 ("));
}

/// A node of two records or separators, and a parent above it.
class TreeRecordStructure : public ::testing::Test {
 protected:
  TreeRecordStructure() {
    left_.leaf().init(PageId{2}, kTree, {}, std::nullopt);
    for (SlotIndex i = 0; i < 8; ++i) {
      EXPECT_TRUE(left_.leaf().insert(i, "key" + std::to_string(i), "value"));
    }
    plan_split(left_.leaf(), plan_);
    split_into(left_.leaf(), right_.leaf(), PageId{3}, plan_);
  }
  [[nodiscard]] Payload split() const {
    return encoded(LoggedSplit{plan_, PageId{2}, right_.leaf(), PageId{1}, 0});
  }
  [[nodiscard]] Payload split_root() const {
    return encoded(LoggedRootSplit{plan_, left_.leaf(), right_.leaf(), PageId{1}});
  }
  [[nodiscard]] Payload merge() const {
    return encoded(LoggedMerge{PageId{2}, right_.leaf(), PageId{1}, 0});
  }
  [[nodiscard]] Payload merge_root() const {
    const PageMemory root(kPageSize);
    root.leaf().init(PageId{1}, kTree, {}, std::nullopt);
    EXPECT_TRUE(root.leaf().insert(0, "key", "value"));
    return encoded(LoggedRootMerge{PageId{2}, PageId{3}, root.leaf()});
  }

  PageMemory left_{kPageSize};
  PageMemory right_{kPageSize};
  SplitPlan plan_;
};

TEST_F(TreeRecordStructure, NamesItsPages) {
  using Effect = PageEffect;
  const auto pages = [](PageEffect left, PageEffect right, PageEffect above) {
    return ElementsAre(Pair(PageId{2}, left), Pair(PageId{3}, right), Pair(PageId{1}, above));
  };
  EXPECT_THAT(pages_of(split()), pages(Effect::change, Effect::allocate, Effect::change));
  EXPECT_THAT(pages_of(split_root()), pages(Effect::allocate, Effect::allocate, Effect::rewrite));
  EXPECT_THAT(pages_of(merge()), pages(Effect::change, Effect::free, Effect::change));
  EXPECT_THAT(pages_of(merge_root()), pages(Effect::free, Effect::free, Effect::rewrite));
  EXPECT_THAT(pages_of(encoded(LoggedFormatRoot{kTree, PageId{1}})),
              ElementsAre(Pair(PageId{1}, Effect::allocate)));
  for (const Payload& payload : {split(), split_root(), merge(), merge_root()}) {
    EXPECT_FALSE(parsed(payload, kPageSize).is_undoable());
    EXPECT_THAT(extents_of(payload), IsEmpty());
  }
}

TEST_F(TreeRecordStructure, SaysWhatItDid) {
  EXPECT_THAT(printed(split()),
              HasSubstr("split tree 7 page 2 changed page 3 allocated page 1 changed level 0 cut 4 "
                        "parent's slot 0 separator \"key4\", images of "));
  EXPECT_THAT(printed(merge()), HasSubstr("merge tree 7 page 2 changed page 3 freed page 1 changed "
                                          "level 0 parent's slot 0 separator \"key4\""));
  EXPECT_EQ(printed(encoded(LoggedFormatRoot{kTree, PageId{1}})),
            "format_root tree 7 page 1 allocated");
}

// The log does not contain the free space of the pages.
TEST_F(TreeRecordStructure, CarriesNoFreeSpace) {
  EXPECT_LT(split().size(), 400U);
  EXPECT_LT(split_root().size(), 700U);
}

TEST_F(TreeRecordStructure, RefusesNodesThatDoNotBelong) {
  const auto reason = [](const Payload& payload) {
    return validate_tree_record(payload, kPageSize).value_or("accepted");
  };
  const auto changed = [&](Payload payload, std::size_t at, std::uint8_t byte) {
    payload[at] = std::byte{byte};
    return reason(payload);
  };
  constexpr std::size_t kSeparator = sizeof(StructureChangeHeader);
  EXPECT_EQ(reason(split()), "accepted");
  EXPECT_THAT(changed(split(), kSeparator, 'j'), HasSubstr("does not begin at the separator"));
  EXPECT_THAT(changed(split_root(), kSeparator, 'j'), HasSubstr("does not end at the separator"));
  EXPECT_THAT(changed(split(), offsetof(StructureChangeHeader, right), 2), HasSubstr("together"));
  EXPECT_THAT(changed(split(), offsetof(StructureChangeHeader, tree_id), 0), HasSubstr("tree 0"));
  EXPECT_THAT(changed(merge(), offsetof(StructureChangeHeader, cut), 1),
              HasSubstr("unused fields that are not zero"));
  EXPECT_THAT(reason(encoded(LoggedRootMerge{PageId{2}, PageId{4}, right_.leaf()})),
              HasSubstr("fences"));
  EXPECT_THAT(reason(encoded(LoggedMerge{PageId{4}, left_.leaf(), PageId{1}, 0})),
              HasSubstr("without a lower fence"));
  Payload unsorted = merge_root();
  unsorted.back() ^= std::byte{0xFF};  // the last byte of the record's value
  EXPECT_EQ(reason(unsorted), "accepted");
}

TEST_F(TreeRecordStructure, RefusesSwipsThatAreNoPages) {
  const PageMemory inner(kPageSize);
  inner.inner().init(PageId{1}, kTree, 1, {}, std::nullopt, 50);
  ASSERT_TRUE(inner.inner().insert(0, "m", 51));
  const auto reason = [&](const SwipRule& rule) {
    const Payload payload = encoded(LoggedRootMerge{PageId{2}, PageId{3}, inner.inner()});
    return validate_tree_record(payload, kPageSize, rule).value_or("accepted");
  };
  EXPECT_EQ(reason({}), "accepted");
  const auto below_51 = [](const void*, std::uint64_t swip) noexcept { return swip < 51; };
  EXPECT_THAT(reason({.plausible = below_51}), HasSubstr("swip 0x33 of child 1"));
  inner.inner().set_swip(1, 51);
  Payload swizzled = encoded(LoggedRootMerge{PageId{2}, PageId{3}, inner.inner()});
  const std::uint64_t frame = std::uint64_t{1} << 63;
  std::memcpy(
      swizzled.data() + sizeof(StructureChangeHeader) + offsetof(NodeHeader, leftmost_child),
      &frame, sizeof frame);
  EXPECT_THAT(validate_tree_record(swizzled, kPageSize).value_or("accepted"),
              HasSubstr("of child 0 is not plausible"));
}

// A gap so large that, wrapped around, the next run would lie before the last one and seem to end
// within the value.
TEST(TreeRecordFaults, RunsDoNotWrapAround) {
  const std::string before(300, 'a');
  std::string after = before;
  after[250] = 'b';
  const Payload patch = encoded(LoggedUpdate{place("key"), {before}, {after}});
  for (const std::uint64_t back : {std::uint64_t{251}, std::uint64_t{200}, std::uint64_t{1}}) {
    for (const std::uint64_t wrap : {std::uint64_t{0}, std::uint64_t{1} << 32U}) {
      std::array<std::byte, 16> number{};
      const std::byte* end = put_varint(number.data(), wrap - back);
      const auto bytes = std::span(number).first(static_cast<std::size_t>(end - number.data()));
      Payload wrapped = patch;
      wrapped.insert(wrapped.end(), bytes.begin(), bytes.end());
      wrapped.push_back(std::byte{1});
      wrapped.push_back(std::byte{'x'});
      TreeRecord record;
      EXPECT_THAT(parse_tree_record(wrapped, kPageSize, record).value_or("accepted"),
                  HasSubstr("cut off"))
          << wrap - back;
    }
  }
}

TEST(TreeRecordFaults, AreNamed) {
  const auto reason = [](Payload payload, std::size_t at, std::uint8_t byte) {
    payload[at] = std::byte{byte};
    TreeRecord record;
    return parse_tree_record(payload, kPageSize, record).value_or("accepted");
  };
  const std::string named = large_value(100);
  const Payload insert = encoded(LoggedInsert{place("key"), {"value"}});
  const Payload patch = encoded(LoggedUpdate{place("key"), {"value"}, {"vaXue"}});
  const Payload mark = encoded(LoggedMark{place("key"), kPlainRecord});
  const Payload replace = encoded(LoggedUpdate{place("key"), {"value"}, {"val"}});
  const Payload purge = [] {
    const PageMemory page(kPageSize);
    page.leaf().init(kPage, kTree, {}, std::nullopt);
    EXPECT_TRUE(page.leaf().insert(0, "a", "1", kGhost));
    EXPECT_TRUE(page.leaf().insert(1, "b", "2", kGhost));
    const std::vector<SlotIndex> slots{0, 1};
    return encoded(LoggedPurge{page.leaf(), slots});
  }();
  const RecordState descriptor{named, kLargeValue};
  const Payload large = encoded(LoggedInsert{place("key"), descriptor});
  const Payload large_replace = encoded(LoggedUpdate{place("key"), descriptor, descriptor});
  const Payload revived = encoded(LoggedUpdate{place("key"), {"value", kGhost}, {"vaXue"}});
  const std::string a(300, 'a');
  const Payload far = encoded(LoggedUpdate{place("key"), {a + "b"}, {a + "c"}});
  const Payload twice = encoded(LoggedUpdate{place("key"), {"abcdefghij"}, {"aXcdefgXij"}});
  const Payload far_replace = encoded(LoggedUpdate{place("key"), {a + "bc"}, {a + "d"}});
  // Small numbers have a byte each: kind and bits, slot, tree, page, length of the key.
  constexpr std::size_t kPageAt = 3;
  constexpr std::size_t kKeyLength = 4;
  constexpr std::size_t kAfter = 6;     // with flags
  constexpr std::size_t kBody = 5 + 3;  // without flags
  TreeRecord record;
  EXPECT_EQ(parse_tree_record({}, kPageSize, record), "it is empty");
  EXPECT_EQ(reason(insert, 0, 0), "kind 0 is unknown");
  EXPECT_THAT(reason(insert, 0, kind_byte(TreeRecordKind::insert, kCompensation)),
              HasSubstr("flags"));
  EXPECT_THAT(reason(mark, 0, kind_byte(TreeRecordKind::mark, kHasFlags | kNewGoesLeft)),
              HasSubstr("unknown bits"));
  EXPECT_THAT(reason(mark, 0, kind_byte(TreeRecordKind::mark, 0x80)), HasSubstr("is unknown"));
  EXPECT_THAT(reason(insert, kPageAt, 0), HasSubstr("is not a possible page"));
  EXPECT_THAT(reason(insert, kKeyLength, 0), HasSubstr("a key of 0"));
  EXPECT_THAT(reason(insert, kKeyLength, 0x7F), HasSubstr("cut off"));
  EXPECT_THAT(reason(insert, kKeyLength, 0xFF), HasSubstr("a key of"));  // takes a byte of it
  EXPECT_THAT(reason(large, kAfter, kLargeValue | kGhost), HasSubstr("flags"));
  EXPECT_THAT(reason(large, kAfter, 0x80), HasSubstr("flags"));
  EXPECT_THAT(reason(large, kAfter, 0), HasSubstr("flags are stored but none is set"));
  EXPECT_THAT(reason(large, kAfter + 4, 0), HasSubstr("descriptor"));
  EXPECT_THAT(reason(mark, kAfter, 0), HasSubstr("flags"));
  EXPECT_THAT(reason(patch, kBody, 0xFF), HasSubstr("cut off"));  // its length is its second byte
  EXPECT_THAT(reason(patch, kBody + 1, 0), HasSubstr("a run of 0 bytes"));
  EXPECT_THAT(reason(patch, kBody + 1, 9), HasSubstr("cut off"));
  EXPECT_THAT(reason(far, kBody + 1, 0x7F), HasSubstr("a run of 1 bytes at"));
  EXPECT_THAT(reason(twice, kBody + 3, 0), HasSubstr("behind one up to"));
  EXPECT_THAT(reason(revived, kAfter, kLargeValue), HasSubstr("flags"));
  EXPECT_THAT(reason(far_replace, kBody + 1, 0x7F), HasSubstr("values of"));
  EXPECT_THAT(reason(large_replace, kAfter + 4, 1), HasSubstr("a part of a large value"));
  EXPECT_THAT(reason(replace, kBody + 2, 9), HasSubstr("cut off"));
  EXPECT_THAT(reason(purge, offsetof(LeafChangeHeader, count), 3), HasSubstr("3 are announced"));
  EXPECT_THAT(reason(purge, sizeof(LeafChangeHeader), 1), HasSubstr("slot 1 behind slot 1"));
  const Payload bulk_erase = [] {
    const PageMemory page(kPageSize);
    page.leaf().init(kPage, kTree, {}, std::nullopt);
    const std::array<SlotRun, 2> runs{{{.first = 1, .count = 2}, {.first = 5, .count = 1}}};
    return encoded(LoggedBulkErase{page.leaf(), runs});
  }();
  constexpr std::size_t kRuns = sizeof(LeafChangeHeader);
  EXPECT_THAT(reason(bulk_erase, offsetof(LeafChangeHeader, count), 0),
              HasSubstr("the deletion erases nothing"));
  EXPECT_THAT(reason(bulk_erase, offsetof(LeafChangeHeader, count), 1),
              HasSubstr("1 are announced"));
  EXPECT_THAT(reason(bulk_erase, offsetof(LeafChangeHeader, resolution), 1),
              HasSubstr("resolution 1"));
  EXPECT_THAT(reason(bulk_erase, kRuns + 2, 0), HasSubstr("0 slots from slot 1"));
  EXPECT_THAT(reason(bulk_erase, kRuns + 2, 5), HasSubstr("1 slots from slot 5 behind slot 5"));
  EXPECT_THAT(reason(bulk_erase, kRuns + 7, 0xFF), HasSubstr("slots from slot 5"));
  EXPECT_THAT(printed(bulk_erase), HasSubstr("bulk_erase tree 7 page 12 changed slots 1 2 5"));
  EXPECT_THAT(reason(Payload(bulk_erase.begin(), bulk_erase.end() - 1), 0,
                     kind_byte(TreeRecordKind::bulk_erase)),
              HasSubstr("cut off"));
  EXPECT_THAT(printed(Payload(3, std::byte{0})), HasSubstr("no record of a tree: kind 0"));
}

}  // namespace
}  // namespace palimpsest::btree::test
