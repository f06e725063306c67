// Changes of a tree's structure: splits, merges, and the root growing and shrinking.
//
// Each change is one step at one level, a system transaction in itself. It latches the parent, the
// node and at most one neighbour exclusively, top-down and left to right, changes them, and
// releases them. If the parent has no room, making room there is a step of its own, and then the
// first step starts again. Between steps the tree is valid. Frames and page ids for new pages are
// reserved before any latch is taken.
//
// Invariants: (1) the root keeps its frame, and its page id but for move_root(): it grows by moving
//                 its content into two new children, and shrinks by taking over the content of its
//                 only child;
//             (2) exactly one swip names a child, and the parent of its frame is the frame of the
//                 page with that swip: a step that moves swips adopts the children while latched;
//             (3) a merge touches only resident pages: an evicted neighbour is brought in first,
//                 together with its attached table;
//             (4) a leaf's mapping table follows its records in the same latched step; its memory
//                 is allocated before anything changes (leaf_entries.h);
//             (5) with a log, one redo-only record describes the whole step; it is appended under
//                 the latches of its pages, which get its GSN, and the space map is updated at
//                 once;
//             (6) grafted leaves were written and made durable before the record that names them,
//                 and do not get its GSN: the clock is raised above it under the latches, so that
//                 every later change or commit of them comes after it (I-3);
//             (7) a page that moves keeps its frame, and with it its swip, its attached table and
//                 all memories of the frame: structure_moves.cc explains why that is enough.
// Failure: no_space, io_error, failed, transaction_too_old, out_of_memory (std::bad_alloc for a
//          table) before anything has changed; afterwards nothing fails.
// Thread-safety: all functions, from any thread; no latch held by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "btree/descent.h"
#include "btree/leaf_entries.h"
#include "btree/node/fresh_leaf.h"
#include "btree/node/leaf_node.h"
#include "btree/node/node_image.h"
#include "btree/node/node_split.h"
#include "btree/page_moves.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

class Structure {
 public:
  Structure(const Descent& descent, TreeId tree) noexcept : descent_(descent), tree_(tree) {}

  /// Makes room in the leaf of `key` for a new record of that size, unless there is room already.
  void make_room(const WriteContext& by, ByteView key, std::size_t value_len) const;

  /// Splits the leaf of `key` near its middle if it has at least two records: for a value that
  /// grows, and for leaves that many threads contend for.
  void split_leaf(const WriteContext& by, ByteView key) const;

  /// Merges the leaf of `key` with a neighbour if it is thinly filled and they fit together, and
  /// continues upwards. The left neighbour comes first, which is cheap if this leaf has few
  /// records. An empty leaf is merged even into a full left neighbour, which gets only a larger
  /// range of keys. Optional: it is skipped if a neighbour cannot be read or the log has no space.
  /// Returns about how many pages were freed.
  std::uint32_t merge_leaf(const WriteContext& by, ByteView key) const noexcept;

  /// If all records are below `key`, makes sure that the last leaf is empty and covers `key`;
  /// returns the leaf's lower fence. Nothing if there is a larger record, or if the leaf before it
  /// would have no room for its upper fence.
  [[nodiscard]] std::optional<KeyBuffer> open_end(const WriteContext& by, ByteView key) const;

  /// Grafts leaves (bulk/leaf_builder.h), which are durable, before the last leaf of the tree,
  /// starting where the first of them begins; each log record takes as many as fit. `hung` counts
  /// them, even if this throws. Fewer than all if the end of the tree is a different one by now.
  void graft(const WriteContext& by, std::span<const FreshLeaf> leaves, std::size_t& hung) const;

  /// Moves pages below the inner node of level `walk.level` + 1 that covers `walk.next` to lower
  /// page ids, if they lie at `walk.from` or behind; then advances to the next node, and after the
  /// last one to the next level. False: there is no further node, or no lower page id
  /// (`walk.is_full`). Throws what preparing a structure change throws.
  [[nodiscard]] bool move_down(const WriteContext& by, PageMoves& walk) const;

  /// Moves the root, page `root`, which the record `name` of the catalog names. Latches the
  /// catalog's leaf first, then the root: no thread waits for a page of the catalog while it holds
  /// a page of another tree. Returns the root's page id from now on.
  [[nodiscard]] PageId move_root(const WriteContext& by, const Structure& catalog, ByteView name,
                                 PageId root, PageMoves& walk) const;
  /// About how many leaves there are, estimated from the path to the first one.
  [[nodiscard]] std::uint64_t approximate_leaves() const;

  /// Whether a node with that many free bytes should be merged.
  [[nodiscard]] static bool thinly_filled(std::uint32_t free_bytes,
                                          std::uint32_t page_size) noexcept {
    return free_bytes > node_capacity_bytes(page_size) / 5 * 3;
  }

 private:
  /// The pages of one step: `left` and `right` change below `above`.
  struct Step {
    const WriteContext& by;
    buffer::ExclusivePage& left;
    buffer::ExclusivePage& right;
    buffer::ExclusivePage& above;
  };
  /// A node latched exclusively together with its parent (not held if the node is the root).
  struct Family {
    buffer::ExclusivePage parent;
    buffer::ExclusivePage node;
  };

  /// The purpose of a split: decides where to cut, and whether the split is still needed.
  struct Need {
    ByteView key;                ///< the record's or separator's key
    std::size_t value_len = 0;   ///< leaf only
    bool in_the_middle = false;  ///< leaf only: split_leaf()
  };

  /// New pages of one step: a root split makes two.
  static constexpr std::uint32_t kPagesPerStep = 2;

  enum class SplitOutcome : std::uint8_t { done = 1, parent_is_full };
  enum class MoveOutcome : std::uint8_t { moved = 1, stays, is_written };
  enum class GraftOutcome : std::uint8_t { done = 1, parent_is_full, not_possible };
  enum class MergeOutcome : std::uint8_t { merged = 1, not_possible, go_on_above };

  [[nodiscard]] Attempt<Family> latch_family(ByteView key, std::uint32_t level) const;
  [[nodiscard]] buffer::ExclusivePage latch_child(const buffer::ExclusivePage& parent,
                                                  SlotIndex child) const;
  void bring_in_child(ByteView key, std::uint32_t parent_level, SlotIndex child) const;

  void split(const WriteContext& by, std::uint32_t level, const Need& need) const;
  [[nodiscard]] Attempt<SplitOutcome> try_split(const WriteContext& by, std::uint32_t level,
                                                const Need& need,
                                                buffer::PageReservation& reservation,
                                                SplitPlan& plan) const;
  [[nodiscard]] bool plan_for(const buffer::ExclusivePage& node, const Need& need,
                              SplitPlan& plan) const;
  void split_root(const WriteContext& by, buffer::ExclusivePage& root, const SplitPlan& plan,
                  buffer::PageReservation& reservation) const;
  void split_below_parent(const WriteContext& by, Family& family, const SplitPlan& plan,
                          buffer::PageReservation& reservation) const;
  void carry_out(buffer::ExclusivePage& left, buffer::ExclusivePage& right, const SplitPlan& plan,
                 versioning::TablePtr right_table) const;

  [[nodiscard]] Attempt<MergeOutcome> try_merge(const WriteContext& by, ByteView key,
                                                std::uint32_t level) const;
  [[nodiscard]] bool merge_children(const WriteContext& by, buffer::ExclusivePage& parent,
                                    SlotIndex left_index) const;
  [[nodiscard]] bool worth_merging(const buffer::ExclusivePage& left,
                                   const buffer::ExclusivePage& right) const;
  [[nodiscard]] bool can_join_spans(const WriteContext& by, const buffer::ExclusivePage& left,
                                    const buffer::ExclusivePage& right) const noexcept;
  void shrink_root(buffer::ExclusivePage& root, buffer::ExclusivePage& only_child) const;

  [[nodiscard]] Attempt<GraftOutcome> try_open_end(const WriteContext& by, ByteView key,
                                                   buffer::PageReservation& reservation,
                                                   SplitPlan& plan) const;
  [[nodiscard]] bool plan_end(const buffer::ExclusivePage& leaf, bool is_root, ByteView key,
                              SplitPlan& plan) const;
  [[nodiscard]] Attempt<GraftOutcome> try_graft(const WriteContext& by,
                                                std::span<const FreshLeaf> leaves,
                                                std::size_t& hung) const;
  [[nodiscard]] std::size_t fitting(const InnerView& parent,
                                    std::span<const FreshLeaf> leaves) const;
  void hang(const WriteContext& by, buffer::ExclusivePage& parent, buffer::ExclusivePage& last,
            std::span<const FreshLeaf> leaves) const;

  /// Children of one node, all of one level.
  struct Children {
    std::uint32_t level = 0;
    std::vector<std::string> keys;  ///< the lower fence of each
  };
  [[nodiscard]] std::optional<Children> children_to_move(PageMoves& walk) const;
  void move_child(const WriteContext& by, const Target& child, std::uint32_t level,
                  PageMoves& walk) const;
  [[nodiscard]] Attempt<MoveOutcome> try_move(const WriteContext& by, const Target& child,
                                              std::uint32_t level, PageId from, PageId to) const;
  [[nodiscard]] bool try_move_root(const WriteContext& by, const Structure& catalog, ByteView name,
                                   PageId to) const;
  [[nodiscard]] Gsn log_root_move(const WriteContext& by, buffer::ExclusivePage& root,
                                  buffer::ExclusivePage& naming, SlotIndex slot, TreeId catalog,
                                  PageId from) const noexcept;
  void find_children(const buffer::SharedPage& parent, PageId from,
                     std::vector<SlotIndex>& found) const;
  [[nodiscard]] Gsn log_move(const WriteContext& by, Family& family, ByteView key,
                             PageId from) const noexcept;

  [[nodiscard]] SwipNames swip_names() const noexcept;
  void log_split(const Step& step, const SplitPlan& plan, SlotIndex parent_slot) const noexcept;
  void log_root_split(const Step& step, const SplitPlan& plan) const noexcept;
  void log_merge(const Step& step, SlotIndex parent_slot) const noexcept;
  void log_root_merge(const Step& step) const noexcept;

  Descent descent_;
  TreeId tree_;
};

}  // namespace palimpsest::btree
