// Writing the log records of a tree: one small struct a change, filled in from what the code that
// makes the change has in hand.
//
//   const LoggedUpdate change{{tree, page, slot, key}, {old_value, old_flags}, {value, flags}};
//   append(change.encoded_bytes(), [&](MutableBytes into) { change.encode(into); });
//
// When: what a record says of pages as they were (records, ghosts, the right page of a merge) is
// taken before the change, what it says of pages as they become (the new pages of a split, the root
// after a merge) after it; each struct says which. Either way under the latches of all its pages.
// Nothing here allocates, throws or waits: encode() fills encoded_bytes() bytes, at most
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

/// Some bytes of a value, or all.
struct BytesRange {
  std::size_t begin = 0;
  std::size_t end = ByteView::npos;
};

/// A value replaced or changed in place, also over a ghost, flags included:
/// LeafNode::replace_value() or value_bytes(), then set_flags(). Before the change, as `before`
/// lies in the page.
class LoggedUpdate {
 public:
  /// `in`: where they may differ; only there `before` has to be known.
  LoggedUpdate(const RecordPlace& at, const RecordState& before, const RecordState& after,
               const BytesRange& in = {}) noexcept;

  [[nodiscard]] std::size_t encoded_bytes() const noexcept { return bytes_; }
  void encode(MutableBytes into) const noexcept;

  /// Whether the value stays as long, and in its leaf.
  [[nodiscard]] bool is_patch() const noexcept { return head_.kind == TreeRecordKind::patch; }
  /// Of a patch: what was there, as a version keeps it (versioning/version.h).
  [[nodiscard]] std::size_t before_runs_bytes() const noexcept { return before_runs_bytes_; }
  void put_before_runs(MutableBytes into) const noexcept;
  /// Whether all that was there is known.
  [[nodiscard]] bool is_of_whole() const noexcept {
    return in_.begin == 0 && in_.end >= before_.value.size();
  }

 private:
  /// Bytes in which the values differ.
  struct Run {
    std::uint32_t offset;
    std::uint32_t len;
  };
  /// A value changed in more places is looked through again for the rest of them.
  static constexpr std::size_t kRunsKept = 8;

  /// Of a patch, from there on.
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
  std::size_t run_count_ = 0;  ///< of all runs; the first of them are kept
  std::size_t before_runs_bytes_ = 0;
  std::array<Run, kRunsKept> runs_;
  std::size_t bytes_;
};

/// LeafNode::set_flags(), of which kGhost is one that changes. Before or after.
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
  BulkEpoch epoch = kNoEpoch;  ///< the leaf's from then on

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;

 private:
  [[nodiscard]] ByteView given_up_of(SlotIndex slot) const noexcept;
};

/// bulk_erase_records(). Before or after.
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

/// A node moved into its left neighbour, and its separator taken out of the parent, which keeps a
/// child: merge_into_left() does not change the right one, so before or after.
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

/// The last two children of the root merged, and what they hold moved into the root; one record
/// instead of a merge. After.
struct LoggedRootMerge {
  PageId left;
  PageId right;
  NodeView root;
  SwipNames swips{};

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// A node that has another page from then on, below the same parent. Its swip there is that of its
/// frame, so before or after.
struct LoggedMove {
  PageId from;
  NodeView node;  ///< with its new page id
  PageId parent;
  SlotIndex child = 0;  ///< which one of the parent's
  SwipNames swips{};
  /// Of a root: that of the catalog; `parent` is its leaf, and `child` the slot there.
  TreeId naming_tree = kNoTree;

  [[nodiscard]] std::size_t encoded_bytes() const noexcept;
  void encode(MutableBytes into) const noexcept;
};

/// Leaves hung before the last leaf of their tree, which is empty. Before or after.
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
