// Deleting the records of a range for a bulk: a leaf by one visit and one log record.
//
// What the bulk deletes are virtual versions, as if it had deleted one record after the other
// (virtual_version.h). But they are logged together, redo-only: not the log but the epoch undoes
// them, if the bulk comes to nothing. So they cannot be undone while it goes on.
//
// Argument: a bulk has its tables to itself, so nobody else claims these records, and nobody's
// undoing needs their room: they are not claimed. What others may purge meanwhile are ghosts of
// records that the bulk has made itself. Who commits the bulk is durable with what it has deleted:
// the clock is raised above the record while the leaf is latched (I-3).
//
// Latching: one leaf exclusively at a time; none between two. Leaves that are not in memory are
//           read ahead, their reads overlapping.
// Failure: as WriteContext::prepare_structure_change(), and what trees throw; the leaves before
//          stay as they are.
// Thread-safety: as the bulk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/leaf_walk.h"
#include "btree/write_context.h"

namespace palimpsest::btree {

/// Where a deletion has stopped.
struct RangeStop {
  std::string key;
  /// There is a record of that key which has to be deleted by itself; otherwise it goes on there.
  bool needs_removal = false;
};

/// Deletes records of some leaves, from the lower end of the range on, and counts them in
/// `deleted`, also if this throws. Nothing: the end was reached. `by` is a bulk that changes the
/// tree.
[[nodiscard]] std::optional<RangeStop> delete_in_some_leaves(const BTree& tree,
                                                             const WriteContext& by,
                                                             const KeyRange& range,
                                                             std::uint64_t& deleted);

}  // namespace palimpsest::btree
