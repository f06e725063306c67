// Clearing away leaves without records that walks have met (ghost_leaf_notes.h): by whoever writes
// to the tree next, before its own change.
//
// A walk that came through many leaves in vain took about as long as clearing a part of them does.
// So that part goes, rather than one leaf a write: those of a whole run, left behind when an old
// reader ended, or on the pages of a database that is opened again, go within some tens of writes.
// Leaves that somebody needs end the clearing, and those of bulks that not everybody sees.
//
// Latching: no latch held; one leaf at a time, as a purge. Failure: none; what fails, fails
// silently: if it matters, the caller's own change says so. Thread-safety: as the tree.
#pragma once

#include "btree/btree.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

void clear_noted_leaves(BTree& tree, const WriteContext& by) noexcept;

/// One load, if nothing was met.
inline void clear_dead_leaves(BTree& tree, const WriteContext& by) noexcept {
  if (tree.ghost_leaf_notes().may_have()) [[unlikely]] {
    clear_noted_leaves(tree, by);
  }
}

}  // namespace palimpsest::btree
