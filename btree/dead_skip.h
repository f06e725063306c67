// What one read of a range does about leaves that hold nothing for it. Everything that walks over
// records for a reader has one of these: visits, cursors, range deletions; so all of them come
// through the ghosts that a queue's front leaves behind at the same cost, in either direction.
//
//   begin(range) -> walk, pass(leaf) for each leaf gone through -> ... -> end()
//
// Two remedies: leaves that could be cleared away are told to the tree's next writer
// (dead_notes.h); behind those that an old reader needs the walk begins at once, if the reader has
// a DeadRun, which remembers them.
// Latching: pass() with the leaf latched; the others with none held. Failure: none.
// Thread-safety: belongs to one walk; a DeadRun belongs to the transaction that reads.
#pragma once

#include "btree/btree.h"
#include "btree/dead_leaves.h"
#include "btree/dead_run.h"
#include "btree/leaf_walk.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

class DeadSkip {
 public:
  /// `viewer`: whose view the reader has; null: the newest state. `run`: what it remembers, or
  /// null. All outlive it.
  DeadSkip(const BTree& tree, Direction direction, const versioning::Viewer* viewer,
           DeadRun* run) noexcept
      : tree_(tree),
        direction_(direction),
        viewer_(viewer),
        run_(viewer == nullptr ? nullptr : run),
        dead_(tree.dead_notes().seed()) {}

  /// A walk of this range, whose bounds outlive it: the part of it that has to be walked.
  [[nodiscard]] KeyRange begin(const KeyRange& range) noexcept;
  /// It has gone through a leaf.
  void pass(const LeafWalk& walk) noexcept;
  /// All walks are done.
  void end() noexcept;

 private:
  const BTree& tree_;
  const Direction direction_;
  const versioning::Viewer* const viewer_;
  DeadRun* const run_;
  DeadRun::Start start_{};
  DeadLeaves dead_;
};

}  // namespace palimpsest::btree
