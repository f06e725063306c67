// Writes the log records of a tree: a small struct per change, filled in from what the code that
// makes the change has at hand.
//
//   const LoggedUpdate change{{tree, page, slot, key}, {old_value, old_flags}, {value, flags}};
//   append(change.encoded_bytes(), [&](MutableBytes into) { change.encode(into); });
//
// When to encode: a record of the old state of a page (records, ghosts, the right page of a merge)
// before the change; a record of the new state (the new pages of a split, the root after a merge)
// after it. Each struct says which, as "Before" or "After"; in either case under the latches of all
// its pages. Nothing here allocates, throws or waits: encode() fills encoded_bytes() bytes, at most
// max_record_change_bytes() or max_record_bytes(). Views need to live until then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "btree/log/tree_record_format.h"
#include "btree/node/fresh_leaf.h"
#include "btree/node/inner_node.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_image.h"
#include "btree/node/node_split.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

class TreeRecordWriter;

/// The record that changes; `slot` is where it is, or where it is inserted.
struct RecordPlace {
  TreeId tree;
  PageId page;
  SlotIndex slot = 0;
  ByteView key;
};

/// LeafNode::insert(). Before or after.
struct LoggedInsert {
  RecordPlace at;
  RecordState after;

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;

 private:
  [[nodiscard]] RecordChangeHead head() const noexcept;
};

/// A range of a value's bytes; by default all.
struct BytesRange {
  std::size_t begin = 0;
  std::size_t end = ByteView::npos;
};

/// A value replaced or changed in place, also over a ghost, flags included:
/// LeafNode::replace_value() or value_bytes(), then set_flags(). Before the change, as `before`
/// lies in the page.
class LoggedUpdate {
 public:
  /// `in`: where they may differ; `before` need be known only there.
  LoggedUpdate(const RecordPlace& at, const RecordState& before, const RecordState& after,
               const BytesRange& in = {}) noexcept;

  [[nodiscard]] std::size_t encoded_bytes() const noexcept { return bytes_; }
  void encode(MutableBytes into) const noexcept;

  /// Whether the value keeps its length, and lies in its leaf.
  [[nodiscard]] bool is_patch() const noexcept { return head_.kind == TreeRecordKind::patch; }
  /// For a patch: the old bytes, as a version keeps them (versioning/version.h).
  [[nodiscard]] std::size_t before_runs_bytes() const noexcept { return before_runs_bytes_; }
  void put_before_runs(MutableBytes into) const noexcept;
  /// Whether all of the old value is known.
  [[nodiscard]] bool is_of_whole() const noexcept {
    return in_.begin == 0 && in_.end >= before_.value.size();
  }

 private:
  /// Bytes in which the values differ.
  struct Run {
    std::uint32_t offset;
    std::uint32_t len;
  };
  /// More runs than these are found again by another comparison.
  static constexpr std::size_t kRunsKept = 8;

  /// For a patch, from `from` on.
  template <class Use>
  void for_each_difference_from(std::size_t from, Use use) const noexcept;
  template <class Use>
  void for_each_run(Use use) const noexcept;
  [[nodiscard]] std::size_t patch_bytes() noexcept;
  [[nodiscard]] std::size_t replace_bytes() const noexcept;
  void put_patch(TreeRecordWriter& writer) const noexcept;
  void put_replace(TreeRecordWriter& writer) const noexcept;

  RecordPlace at_;
  RecordState before_;
  RecordState after_;
  BytesRange in_;
  RecordChangeHead head_;
  std::size_t run_count_ = 0;  ///< of all runs; the first of them are in runs_
  std::size_t before_runs_bytes_ = 0;
  std::array<Run, kRunsKept> runs_;
  std::size_t bytes_;
};

/// LeafNode::set_flags(); kGhost is among the changed flags. Before or after.
struct LoggedMark {
  RecordPlace at;
  std::uint16_t flags_before = kPlainRecord;
  std::uint16_t flags_after = static_cast<std::uint16_t>(flags_before ^ kGhost);

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;

 private:
  [[nodiscard]] RecordChangeHead head() const noexcept;
};

/// LeafNode::purge_ghosts(). Before.
struct LoggedPurge {
  LeafView leaf;
  std::span<const SlotIndex> slots;  ///< ascending, of ghosts; at least one

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// resolve_records(). Before.
struct LoggedResolve {
  LeafView leaf;
  std::span<const SlotIndex> slots;  ///< ascending, of records with virtual versions
  Resolution how = Resolution::kept;
  BulkEpoch epoch = kNoEpoch;  ///< the leaf's new epoch

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;

 private:
  [[nodiscard]] ByteView given_up_of(SlotIndex slot) const noexcept;
};

/// bulk_erase_record() for all slots of the runs. Before or after.
struct LoggedBulkErase {
  LeafView leaf;
  std::span<const SlotRun> runs;  ///< at least one

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// The empty root of a new tree: LeafNode::init() without fences.
struct LoggedFormatRoot {
  TreeId tree;
  PageId root;

  [[nodiscard]] static std::size_t encoded_bytes() noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// A leaf or inner node split below its parent: split_into(), then the separator inserted into the
/// parent. After split_into().
struct LoggedSplit {
  const SplitPlan& plan;
  PageId left;
  NodeView right;  ///< as split_into() left it
  PageId parent;
  SlotIndex parent_slot = 0;  ///< where the separator is inserted
  SwipNames swips{};

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// The root's content moved into two new children and divided between them. After.
struct LoggedRootSplit {
  const SplitPlan& plan;
  NodeView left;
  NodeView right;
  PageId root;
  SwipNames swips{};

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// A node merged into its left neighbour; its separator is removed from the parent, which keeps a
/// child. merge_into_left() does not change the right node, so before or after.
struct LoggedMerge {
  PageId left;
  NodeView right;
  PageId parent;
  SlotIndex parent_slot = 0;  ///< of the separator
  SwipNames swips{};
  BulkEpoch epoch = kNoEpoch;  ///< of the left one, after

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// The last two children of the root merged, and their content moved into the root; replaces the
/// merge record. After.
struct LoggedRootMerge {
  PageId left;
  PageId right;
  NodeView root;
  SwipNames swips{};

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// A node that moves to another page, below the same parent. Its swip there is that of its frame,
/// so before or after.
struct LoggedMove {
  PageId from;
  NodeView node;  ///< with its new page id
  PageId parent;
  SlotIndex child = 0;  ///< its index among the parent's children
  SwipNames swips{};
  /// For a root: the catalog's tree; `parent` is the catalog's leaf, and `child` the slot there.
  TreeId naming_tree = kNoTree;

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// Leaves grafted before the last leaf of their tree, which is empty. Before or after.
struct LoggedGraft {
  TreeId tree;
  PageId last;
  PageId parent;
  SlotIndex parent_slot = 0;          ///< of the first separator
  std::span<const FreshLeaf> leaves;  ///< at least one

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

}  // namespace palimpsest::btree
