// Clears leaves without records that walks have met (ghost_leaf_notes.h). The tree's next writer
// does it, before its own change.
//
// A walk through many dead leaves takes about as long as clearing a part of them. So each write
// clears that part and not a single leaf: a whole run of them, left behind when an old reader
// ended, or on the pages of a database that is opened again, is gone within some tens of writes.
// Clearing stops at a leaf that a reader needs, and at leaves of a bulk that is not retired.
//
// Latching: no latch held; one leaf at a time, as a purge. Failure: none; errors are ignored,
// because an error that matters recurs in the caller's own change. Thread-safety: as the tree.
#pragma once

#include "btree/btree.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

void clear_noted_leaves(BTree& tree, const WriteContext& by) noexcept;

/// Costs one load if no dead leaf was met.
inline void clear_ghost_leaves(BTree& tree, const WriteContext& by) noexcept {
  if (tree.ghost_leaf_notes().may_have()) [[unlikely]] {
    clear_noted_leaves(tree, by);
  }
}

}  // namespace palimpsest::btree
