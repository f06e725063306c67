// Deletes the records of a range for a bulk: one visit and one log record per leaf.
//
// The deletions are virtual versions, as if the bulk had deleted one record after the other
// (btree/node/virtual_version.h). But they are logged together, redo-only: if the bulk aborts, not
// the log but the epoch undoes them. So they cannot be undone while the bulk goes on.
//
// Argument that no claims are needed: a bulk has its tables to itself, so no other transaction
// claims these records, and no undo of another transaction needs their space. Other transactions
// may meanwhile purge only ghosts of records that the bulk made itself. The bulk's commit is not
// durable before its deletions are: the clock is raised above the log record while the leaf is
// latched (I-3).
//
// Latching: one leaf exclusively at a time; none between two. Leaves that are not in memory are
// prefetched, with overlapping reads.
// Failure: as WriteContext::prepare_structure_change(), and what trees throw; the leaves before
// stay as they are.
// Thread-safety: as the bulk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/leaf_walk.h"
#include "btree/write_context.h"

namespace palimpsest::bulk {

/// Where a deletion has stopped.
struct RangeStop {
  std::string key;
  /// If true, the record with this key has to be deleted individually; otherwise the deletion
  /// continues at the key.
  bool needs_removal = false;
};

/// Deletes the records of some leaves, from the lower end of the range on, and adds their number to
/// `deleted`, even if this throws. Returns nothing when the end of the range was reached. `by` is a
/// bulk that changes the tree.
[[nodiscard]] std::optional<RangeStop> delete_in_some_leaves(const btree::BTree& tree,
                                                             const btree::WriteContext& by,
                                                             const btree::KeyRange& range,
                                                             std::uint64_t& deleted);

}  // namespace palimpsest::bulk
