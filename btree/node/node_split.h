// Splitting and merging nodes: where to cut, and moving the records.
//
// A full leaf is cut according to its recent inserts (last_insert, run in the node header).
// Ascending streams, at the end of the tree or in its middle (TPC-C inserts orders per district),
// leave full leaves behind; a cut in the middle would leave them half empty forever. Other leaves
// are cut near the middle, at the slot there with the shortest separator.
//
// Callers hold all pages involved exclusively, and the parent as well (which these functions do not
// touch). Nothing here throws or allocates.
#pragma once

#include <cstdint>

#include "palimpsest/function_ref.h"

#include "btree/node/inner_node.h"
#include "btree/node/key_bytes.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

/// How a node is split. The separator becomes the left node's upper fence and the right one's lower
/// fence.
struct SplitPlan {
  /// Leaf: records [0, cut) stay, [cut, count) move right. Inner node: separator `cut` moves up to
  /// the parent, separators [0, cut) stay with children [0, cut], the rest moves right.
  SlotIndex cut = 0;
  /// Where the record or separator to be inserted belongs after the split.
  bool new_goes_left = false;
  /// The key that goes into the parent.
  KeyBuffer separator;
};

/// Bytes that must stay free beside the record in a slot: a split counts them as the record's own.
using ReservedBeside = FunctionRef<std::uint32_t(SlotIndex)>;

/// Plans the split of a leaf into which (key, value of value_len bytes) is to be inserted at
/// `slot`, where it does not fit. After the split it is certain to fit. `key` and value length are
/// within the limits of the page size, and so is each record together with what is reserved beside
/// it.
void plan_split(const LeafView& leaf, SlotIndex slot, ByteView key, std::size_t value_len,
                ReservedBeside reserved, SplitPlan& plan) noexcept;
/// plan_split() with nothing reserved.
void plan_split(const LeafView& leaf, SlotIndex slot, ByteView key, std::size_t value_len,
                SplitPlan& plan) noexcept;

/// Plans the split of a leaf of at least two records near its middle, with nothing to insert
/// (contention).
void plan_split(const LeafView& leaf, ReservedBeside reserved, SplitPlan& plan) noexcept;
void plan_split(const LeafView& leaf, SplitPlan& plan) noexcept;

/// Plans the split of an inner node into which `separator` is to be inserted at `slot`, where it
/// does not fit. After the split it is certain to fit.
void plan_split(const InnerView& node, SlotIndex slot, ByteView separator,
                SplitPlan& plan) noexcept;

/// Carries the plan out: `right` becomes a new node with page id `right_id` and the tree id of the
/// left one; prefixes grow on both sides where they can. GSN and the other fields of the right page
/// header are 0, those of the left stay. Depends on nothing but the left page, `right_id`, cut,
/// separator and new_goes_left, so that a log record can repeat it.
void split_into(LeafNode left, LeafNode right, PageId right_id, const SplitPlan& plan) noexcept;
void split_into(InnerNode left, InnerNode right, PageId right_id, const SplitPlan& plan) noexcept;

/// What split_into() does to the left page alone, for a log record that carries the right page.
void keep_left(LeafNode left, const SplitPlan& plan) noexcept;
void keep_left(InnerNode left, const SplitPlan& plan) noexcept;

/// Whether the node can be split as planned: the separator lies where the cut says, and both sides
/// fit. For plans from a log; plans of plan_split() always can.
[[nodiscard]] bool can_split(const LeafView& leaf, const SplitPlan& plan) noexcept;
[[nodiscard]] bool can_split(const InnerView& node, const SplitPlan& plan) noexcept;

/// Whether the records of two neighbours fit one node. The left upper fence equals the right lower
/// one, and for inner nodes it is the separator that comes down between their children. Exact: the
/// merged prefix may be shorter and the suffixes longer.
[[nodiscard]] bool can_merge(const LeafView& left, const LeafView& right) noexcept;
[[nodiscard]] bool can_merge(const InnerView& left, const InnerView& right) noexcept;

/// Moves everything into `left`; `right` is unchanged and no longer part of the tree. Requires
/// can_merge().
void merge_into_left(LeafNode left, const LeafView& right) noexcept;
void merge_into_left(InnerNode left, const InnerView& right) noexcept;

/// Bytes that the merged node would use, fences and slots included, for policies that leave space
/// free. Meaningful even if it does not fit.
[[nodiscard]] std::uint32_t merged_bytes(const LeafView& left, const LeafView& right) noexcept;
[[nodiscard]] std::uint32_t merged_bytes(const InnerView& left, const InnerView& right) noexcept;

}  // namespace palimpsest::btree
