// Undo of record changes: the compensation of a log record, from its payload alone.
//
// Undo goes by key: a descent finds the leaf that holds the record by then, because splits and
// merges move records. The compensation is a redo-only record change. It is longer than the undone
// record only by what the record's new location may need more (wal::kCompensationGrowthMax), so its
// log space can be reserved together with that record. It is applied like any record, by redo() on
// the latched leaf (tree_redo.h), where it finds the record as the undone change left it.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "btree/log/tree_record.h"

namespace palimpsest::btree {

/// Length of the compensation of an undoable record, applied to `page`, where record.key is at
/// `slot` (for the creation of a tree: to its root).
[[nodiscard]] std::size_t inverse_bytes(const TreeRecord& record, PageId page,
                                        SlotIndex slot) noexcept;

/// Writes the compensation to `into`, inverse_bytes() long. Does not allocate. `into` does not lie
/// in the record.
void write_inverse(const TreeRecord& record, PageId page, SlotIndex slot,
                   MutableBytes into) noexcept;

}  // namespace palimpsest::btree
