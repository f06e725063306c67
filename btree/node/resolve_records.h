// Resolution the virtual versions of a leaf: what a bulk has done becomes all there is, or comes to
// nothing (virtual_version.h).
//
// Pure: no latches, no log. The same for a leaf in the pool and for redo.
// Failure: none; nothing grows. Thread-safety: the caller has the leaf to himself.
#pragma once

#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/node/leaf_node.h"
#include "btree/node/virtual_version.h"

namespace palimpsest::btree {

/// The record of a slot as it lies there, without what is in memory only.
[[nodiscard]] inline RecordState stored_in(const LeafView& leaf, SlotIndex slot) noexcept {
  return {leaf.value(slot), static_cast<std::uint16_t>(leaf.flags(slot) & kRecordFlagsKnown)};
}

[[nodiscard]] inline bool has_virtual_version(const LeafView& leaf, SlotIndex slot) noexcept {
  return (leaf.flags(slot) & kVirtual) != 0;
}

/// The descriptor of the large value that nobody names any more then.
[[nodiscard]] std::optional<ByteView> freed_by_resolution(const LeafView& leaf, SlotIndex slot,
                                                          Resolution how) noexcept;

/// Settles the records in these slots, which have virtual versions, and gives the leaf an epoch.
/// What is in memory only stays.
void resolve_records(LeafNode leaf, std::span<const SlotIndex> slots, Resolution how,
                     BulkEpoch epoch) noexcept;

}  // namespace palimpsest::btree
