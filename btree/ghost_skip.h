// Handles leaves without visible records during one read of a range. Each visit, cursor and range
// deletion has one, so all of them skip the ghosts before the front of a queue at the same cost, in
// either direction.
//
//   begin(range) -> walk, pass(leaf) for each leaf gone through -> ... -> end()
//
// There are two remedies. Leaves that can be cleared are reported to the tree's next writer
// (ghost_leaf_notes.h). Leaves that an old reader still needs are remembered in the reader's
// GhostRun, if it has one, and the next walk begins behind them.
// Latching: pass() with the leaf latched; the other functions with none held. Failure: none.
#pragma once

#include "btree/btree.h"
#include "btree/ghost_leaves.h"
#include "btree/ghost_run.h"
#include "btree/leaf_walk.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

class GhostSkip {
 public:
  /// `read_view`: the reader's; null: the newest state. `run`: the leaves it remembers, or null.
  /// All outlive it.
  GhostSkip(const BTree& tree, Direction direction, const versioning::ReadView* read_view,
            GhostRun* run) noexcept
      : tree_(tree),
        direction_(direction),
        read_view_(read_view),
        run_(read_view == nullptr ? nullptr : run),
        dead_(tree.ghost_leaf_notes().seed()) {}

  /// Begins a walk of this range; its bounds outlive this. Returns the part that must be walked.
  [[nodiscard]] KeyRange begin(const KeyRange& range) noexcept;
  /// The walk has gone through a leaf.
  void pass(const LeafWalk& walk) noexcept;
  /// All walks are done.
  void end() noexcept;

 private:
  const BTree& tree_;
  const Direction direction_;
  const versioning::ReadView* const read_view_;
  GhostRun* const run_;
  GhostRun::Start start_{};
  GhostLeaves dead_;
};

}  // namespace palimpsest::btree
