// Resolves the virtual versions of a leaf: a bulk's changes become the only state, or are undone
// (virtual_version.h).
//
// Pure: no latches, no log. Used for a leaf in the pool and for redo.
// Failure: none; nothing grows. Thread-safety: the caller has the leaf exclusively.
#pragma once

#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/leaf_node.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

/// The record of a slot as it lies there, without its in-memory flags.
[[nodiscard]] inline RecordState stored_in(const LeafView& leaf, SlotIndex slot) noexcept {
  return {leaf.value(slot), static_cast<std::uint16_t>(leaf.flags(slot) & kRecordFlagsKnown)};
}

[[nodiscard]] inline bool has_virtual_version(const LeafView& leaf, SlotIndex slot) noexcept {
  return (leaf.flags(slot) & kVirtual) != 0;
}

/// The descriptor of the large value that no record names after the resolution.
[[nodiscard]] std::optional<ByteView> freed_by_resolution(const LeafView& leaf, SlotIndex slot,
                                                          Resolution how) noexcept;

/// Resolves the records in these slots, which have virtual versions, and gives the leaf an epoch.
/// In-memory flags stay.
void resolve_records(LeafNode leaf, std::span<const SlotIndex> slots, Resolution how,
                     BulkEpoch epoch) noexcept;

}  // namespace palimpsest::btree
