// Deletes many records of a leaf at once for a bulk, where only the flags change
// (virtual_version.h).
//
// Excluded are ghosts, and records with a shadow, which becomes the value again.
// Pure: no latches, no log. Used for a leaf in the pool and for redo.
// Failure: none. Thread-safety: the caller has the leaf exclusively.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "btree/node/leaf_node.h"
#include "btree/node/resolve_records.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

/// Whether deleting the record changes nothing but its flags.
[[nodiscard]] inline bool can_be_bulk_erased(const LeafView& leaf, SlotIndex slot) noexcept {
  return (leaf.flags(slot) & (kGhost | kShadowed)) == 0;
}

/// Deletes the record. In-memory flags stay.
inline void bulk_erase_record(LeafNode leaf, SlotIndex slot) noexcept {
  PALIMPSEST_DEBUG_CHECK(can_be_bulk_erased(leaf, slot),
                         "a record deleted by bulk_erase keeps its value");
  const std::uint16_t deleted = deleted_by_bulk(stored_in(leaf, slot)).flags;
  leaf.set_flags(slot, static_cast<std::uint16_t>(deleted | (leaf.flags(slot) & kInMemoryOnly)));
}

}  // namespace palimpsest::btree
