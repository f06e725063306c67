// Changing a tree's structure: splits, merges, and the root growing and shrinking.
//
// Each change is one step of one level, a system transaction in itself: it latches the parent, the
// node and at most one neighbour exclusively, top-down and left to right, changes them, and lets
// go. What must happen above first (no room in the parent) is done as a step of its own, and the
// first one starts again. Between steps the tree is valid. Frames and page ids for new pages are
// reserved before any latch is taken.
//
// Invariants: (1) the root keeps its page id and its frame: it grows by moving its content into two
//                 new children, and shrinks by taking over the content of its only child;
//             (2) a child is named by exactly one swip, and its frame's parent is the frame of the
//                 page that holds it: whoever moves swips adopts the children in the same latched
//                 step;
//             (3) a merge touches only resident pages: an evicted neighbour is brought in first,
//                 and with it what hangs off it;
//             (4) a leaf's mapping table follows its records in the same latched step; memory for
//                 that is had before anything changes (leaf_entries.h);
//             (5) with a log, one redo-only record says all of a step; it is appended under the
//                 latches of its pages, which get its GSN, and the space map learns of it at once;
//             (6) leaves that are hung were written and made durable before the record that names
//                 them, and do not get its GSN: the clock is raised above it under the latches, so
//                 that whoever changes or commits them comes after it (I-3);
//             (7) a page that moves keeps its frame, and with it its swip, what hangs off it and
//                 whatever remembers the frame: structure_moves.cc says why that is enough.
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

  /// Makes room in the leaf of `key` for a record of that size that is not there yet, unless there
  /// is room already.
  void make_room(const WriteContext& by, ByteView key, std::size_t value_len) const;

  /// Splits the leaf of `key` near its middle if it has at least two records: for a value that
  /// grows, and for leaves that many threads contend for.
  void split_leaf(const WriteContext& by, ByteView key) const;

  /// Merges the leaf of `key` with a neighbour if it is thinly filled and they fit together, and so
  /// on upwards; the left one first, which costs little if this one has little. An empty leaf goes
  /// into a left one that is full, too: it is given a range of keys and nothing else. Gives up
  /// rather than insist, also when a neighbour cannot be read or the log has no space. About how
  /// many pages that has given back.
  std::uint32_t merge_leaf(const WriteContext& by, ByteView key) const noexcept;

  /// Makes sure that the last leaf is empty and that `key` belongs there, if all records are below
  /// it: where that leaf begins. Nothing if there is such a record, or the leaf before it would
  /// have no room for its end.
  [[nodiscard]] std::optional<KeyBuffer> open_end(const WriteContext& by, ByteView key) const;

  /// Hangs leaves (leaf_builder.h), which are durable, before the last leaf of the tree, where the
  /// first of them begins: one after the other, as many at once as one record says. `hung` counts
  /// them, also if this throws; it is not all of them if the end of the tree is another one by now.
  void graft(const WriteContext& by, std::span<const FreshLeaf> leaves, std::size_t& hung) const;

  /// Gives pages below the inner node of level `walk.level` + 1 that covers `walk.next`, if they
  /// lie at `walk.from` or behind, lower page ids; then goes on to the next node, and from the last
  /// one to the next level. False: there is no further one, or no lower page id (`walk.is_full`).
  /// Throws what preparing a structure change throws.
  [[nodiscard]] bool move_down(const WriteContext& by, PageMoves& walk) const;

  /// The same of the root, page `root`, which the record `name` of the catalog names; that of no
  /// other tree is waited for with a latch held. Where it is now.
  [[nodiscard]] PageId move_root(const WriteContext& by, const Structure& catalog, ByteView name,
                                 PageId root, PageMoves& walk) const;
  /// About how many leaves there are, as the way to the first one is.
  [[nodiscard]] std::uint64_t approximate_leaves() const;

  /// Whether a node of so many free bytes should look for a partner.
  [[nodiscard]] static bool thinly_filled(std::uint32_t free_bytes,
                                          std::uint32_t page_size) noexcept {
    return free_bytes > node_capacity_bytes(page_size) / 5 * 3;
  }

 private:
  /// One step's ends: what is changed below `above`.
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

  /// What a split is for: decides where to cut, and whether it is still needed.
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
    std::vector<std::string> keys;  ///< where each begins
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
