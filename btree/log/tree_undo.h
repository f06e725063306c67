// Undoing record changes: the compensation of a log record, from its payload alone.
//
// Undo goes by key: the leaf that holds the record by then is found by a descent, because splits
// and merges move records. The compensation is a record change of its own, redo-only, longer than
// what it undoes only by what the record's place may be longer by (wal::kCompensationGrowthMax), so
// that its log space can be reserved with it. It is applied as any record
// is, by redo() on the latched leaf (tree_redo.h), and there finds the record as the undone change
// left it.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "btree/log/tree_record.h"

namespace palimpsest::btree {

/// Length of the compensation of an undoable record: to be applied to `page`, where record.key
/// stands at `slot` (a tree that was made: to its root).
[[nodiscard]] std::size_t inverse_bytes(const TreeRecord& record, PageId page,
                                        SlotIndex slot) noexcept;

/// Writes the compensation to `into`, inverse_bytes() long. Does not allocate. `into` does not lie
/// in the record.
void write_inverse(const TreeRecord& record, PageId page, SlotIndex slot,
                   MutableBytes into) noexcept;

}  // namespace palimpsest::btree
