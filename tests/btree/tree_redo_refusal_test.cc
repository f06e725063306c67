// The errors of redo for a log record that does not fit its page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "btree/log/tree_record_encode.h"
#include "btree/log/tree_redo.h"
#include "btree/node/node_split.h"
#include "tests/btree/tree_log_support.h"
#include "tests/support/error_of.h"

namespace palimpsest::btree::test {
namespace {

using palimpsest::test::error_of;
using ::testing::HasSubstr;

constexpr TreeId kTree{7};
constexpr PageId kLeft{2};
constexpr PageId kRight{3};
constexpr PageId kAbove{1};

MutableBytes bytes_of(const PageMemory& page) {
  return {page.data(), page.size()};
}

/// The error of redo for a change of a leaf with the records a, c and e.
class RedoRefuses : public ::testing::Test {
 protected:
  RedoRefuses() {
    LeafNode leaf = page_.leaf();
    leaf.init(kLeft, kTree, {}, "m");
    for (const char* const key : {"a", "c", "e"}) {
      EXPECT_TRUE(leaf.insert(leaf.count(), key, "value"));
    }
  }
  [[nodiscard]] std::string reason(const Payload& payload, PageId page = kLeft) const {
    std::string message;
    const auto code = error_of(
        [&] {
          redo(payload, page, bytes_of(page_), Gsn{9});
          return 0;
        },
        &message);
    EXPECT_TRUE(!code || *code == ErrorCode::corruption);
    return code ? message : "applied";
  }
  [[nodiscard]] std::string reason_of_insert(SlotIndex slot, ByteView key,
                                             std::size_t value_bytes = 1) const {
    const std::string value(value_bytes, 'v');
    return reason(encoded(LoggedInsert{{kTree, kLeft, slot, key}, {value}}));
  }
  [[nodiscard]] std::string reason_of_update(SlotIndex slot, ByteView key, ByteView before,
                                             ByteView after, std::uint16_t flags = 0) const {
    return reason(
        encoded(LoggedUpdate{{kTree, kLeft, slot, key}, {before, flags}, {after, flags}}));
  }

  PageMemory page_{4096};
};

TEST_F(RedoRefuses, WhatDoesNotSuitThePage) {
  EXPECT_EQ(reason(encoded(LoggedMark{{TreeId{8}, kLeft, 0, "a"}, 0})),
            "page 2: a log record of kind mark cannot be applied: the page is page 2 of tree 7, "
            "the record belongs to tree 8");
  EXPECT_THAT(reason(encoded(LoggedMark{{kTree, kRight, 0, "a"}, 0}), kLeft),
              HasSubstr("does not concern this page"));
  EXPECT_THAT(reason(encoded(LoggedMark{{kTree, kRight, 0, "a"}, 0}), kRight),
              HasSubstr("the page is page 2"));
  EXPECT_THAT(reason_of_insert(1, "c"), HasSubstr("\"c\" is at slot 1"));
  EXPECT_THAT(reason_of_insert(0, "b"), HasSubstr("\"b\" belongs to slot 1, not to slot 0"));
  EXPECT_THAT(reason_of_insert(3, "n"), HasSubstr("outside the fences"));
  EXPECT_THAT(reason_of_update(1, "a", "value", "VALUE"), HasSubstr("slot 1 of 3 does not hold"));
  EXPECT_THAT(reason_of_update(3, "e", "value", "VALUE"), HasSubstr("slot 3 of 3 does not hold"));
  EXPECT_THAT(reason_of_update(0, "a", "value", "VALUE", kGhost), HasSubstr("flags 0x0, not 0x2"));
  EXPECT_THAT(reason_of_update(0, "a", "values", "valueS"),
              HasSubstr("a value of 5 bytes is changed up to byte 6"));
  EXPECT_THAT(reason_of_update(0, "a", "vaXXe", "vae"), HasSubstr("not the one that is replaced"));
  EXPECT_THAT(reason_of_update(0, "a", "valu", "val"), HasSubstr("the value of 5 bytes is not"));
  const std::vector<SlotIndex> slots{1};
  EXPECT_THAT(reason(encoded(LoggedPurge{page_.leaf(), slots})),
              HasSubstr("slot 1 of 3 is not a ghost"));
}

// A record encodes only the changed bytes of a value: a missing shadow shows in the unchanged ones.
TEST_F(RedoRefuses, ValuesWithoutTheShadowThatIsAnnounced) {
  page_.leaf().set_bulk_epoch(BulkEpoch{4});
  const auto reason_of = [&](ByteView after) {
    return reason(encoded(LoggedUpdate{{kTree, kLeft, 0, "a"}, {"value", 0}, {after, kShadowed}}));
  };
  EXPECT_THAT(reason_of("VALue"), HasSubstr("a value of 5 bytes has no shadow"));
  EXPECT_THAT(reason_of("value and more"), HasSubstr("a value of 14 bytes has no shadow"));
  EXPECT_EQ(reason_of(ByteView("valu\0\0", 6)), "applied");
}

TEST_F(RedoRefuses, RecordsThatCannotBeDeletedTogether) {
  const auto reason_of = [&](std::uint16_t first, std::uint16_t count) {
    const std::array<SlotRun, 1> runs{{{.first = first, .count = count}}};
    return reason(encoded(LoggedBulkErase{page_.leaf(), runs}));
  };
  EXPECT_THAT(reason_of(0, 1), HasSubstr("no bulk has changed it"));
  page_.leaf().set_bulk_epoch(BulkEpoch{4});
  EXPECT_THAT(reason_of(1, 3), HasSubstr("slot 3 of 3 cannot be deleted"));
  page_.leaf().set_flags(1, kGhost);
  EXPECT_THAT(reason_of(0, 3), HasSubstr("slot 1 of 3 cannot be deleted"));
  page_.leaf().set_flags(1, kShadowed);
  EXPECT_THAT(reason_of(0, 3), HasSubstr("slot 1 of 3 cannot be deleted"));
  page_.leaf().set_flags(1, kCreated);
  EXPECT_EQ(reason_of(0, 3), "applied");
}

TEST_F(RedoRefuses, WhatDoesNotFit) {
  EXPECT_EQ(reason_of_insert(3, "f", 1000), "applied");
  EXPECT_EQ(reason_of_insert(4, "g", 1000), "applied");
  EXPECT_EQ(reason_of_insert(5, "h", 1000), "applied");
  EXPECT_THAT(reason_of_insert(6, "i", 1000), HasSubstr("1001 bytes do not fit"));
  EXPECT_THAT(reason_of_update(0, "a", "value", std::string(1000, 'w')),
              HasSubstr("a value of 1000 bytes does not fit"));
}

TEST_F(RedoRefuses, NodesThatAreNoNeighbours) {
  const PageMemory right(4096);
  right.leaf().init(kRight, kTree, "n", std::nullopt);
  EXPECT_THAT(reason(encoded(LoggedMerge{kLeft, right.leaf(), kAbove, 0})),
              HasSubstr("not its neighbour"));
  right.leaf().init(kRight, kTree, "m", std::nullopt);
  EXPECT_EQ(reason(encoded(LoggedMerge{kLeft, right.leaf(), kAbove, 0})), "applied");
  SplitPlan plan;
  plan.cut = 2;
  plan.separator.assign("c");  // belongs at 1
  right.leaf().init(kRight, kTree, "c", std::nullopt);
  EXPECT_THAT(reason(encoded(LoggedSplit{plan, kLeft, right.leaf(), kAbove, 0})),
              HasSubstr("cannot be split at 2 by \"c\""));
  right.inner().init(kRight, kTree, 1, "c", std::nullopt, 5);
  EXPECT_THAT(reason(encoded(LoggedSplit{plan, kLeft, right.inner(), kAbove, 0})),
              HasSubstr("the page is on level 0, the record on level 1"));
}

TEST_F(RedoRefuses, ParentsOfOtherPages) {
  const PageMemory right(4096);
  right.leaf().init(kRight, kTree, "c", "m");
  SplitPlan plan;
  plan.cut = 1;
  plan.separator.assign("c");
  const auto reason_above = [&](std::uint64_t first, const Payload& payload) {
    page_.inner().init(kAbove, kTree, 1, {}, std::nullopt, first);
    EXPECT_TRUE(page_.inner().insert(0, "b", 60));
    return reason(payload, kAbove);
  };
  const auto split = [&](SlotIndex slot) {
    return encoded(LoggedSplit{plan, kLeft, right.leaf(), kAbove, slot});
  };
  EXPECT_THAT(reason_above(raw(kLeft), split(0)), HasSubstr("does not belong to slot 0"));
  EXPECT_THAT(reason_above(raw(kLeft), split(1)), HasSubstr("child 1 is not page 2"));
  EXPECT_THAT(reason_above(raw(kLeft), encoded(LoggedMerge{kLeft, right.leaf(), kAbove, 0})),
              HasSubstr("does not belong to slot 0"));
  right.leaf().init(kRight, kTree, "b", "m");
  const Payload merge = encoded(LoggedMerge{kLeft, right.leaf(), kAbove, 0});
  EXPECT_THAT(reason_above(raw(kLeft), merge), HasSubstr("child 0 is not page 2"));
  page_.inner().set_swip(1, raw(kRight));
  EXPECT_EQ(reason(merge, kAbove), "applied");
}

}  // namespace
}  // namespace palimpsest::btree::test
