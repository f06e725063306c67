// What one read of a range does about leaves that hold nothing for it. Everything that walks over
// records for a reader has one of these: visits, cursors, range deletions; so all of them come
// through the ghosts that a queue's front leaves behind at the same cost, in either direction.
//
//   begin(range) -> walk, pass(leaf) for each leaf gone through -> ... -> end()
//
// Two remedies: leaves that could be cleared away are told to the tree's next writer
// (ghost_leaf_notes.h); behind those that an old reader needs the walk begins at once, if the
// reader has a GhostRun, which remembers them.
// Latching: pass() with the leaf latched; the others with none held. Failure: none.
// Thread-safety: belongs to one walk; a GhostRun belongs to the transaction that reads.
#pragma once

#include "btree/btree.h"
#include "btree/ghost_leaves.h"
#include "btree/ghost_run.h"
#include "btree/leaf_walk.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

class GhostSkip {
 public:
  /// `read view`: whose view the reader has; null: the newest state. `run`: what it remembers, or
  /// null. All outlive it.
  GhostSkip(const BTree& tree, Direction direction, const versioning::ReadView* read_view,
            GhostRun* run) noexcept
      : tree_(tree),
        direction_(direction),
        read_view_(read_view),
        run_(read_view == nullptr ? nullptr : run),
        dead_(tree.ghost_leaf_notes().seed()) {}

  /// A walk of this range, whose bounds outlive it: the part of it that has to be walked.
  [[nodiscard]] KeyRange begin(const KeyRange& range) noexcept;
  /// It has gone through a leaf.
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
