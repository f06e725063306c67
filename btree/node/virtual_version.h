// Virtual versions: a bulk's change of a record, with the record's previous state, in the bytes and
// flags of its one slot.
//
// A leaf's header names the bulk by its epoch. Readers that see the bulk see the record as it is
// now; all other readers see it as it was before (versioning/bulk_epochs.h). Versions in memory are
// older than the bulk: readers undo them from the state before the bulk.
//
//   flags                  now                     before the bulk
//   none of kVirtual       the record, or ghost    the same
//   kCreated               the record              nothing, or a ghost that no reader needs
//   kDeleted and kGhost    a ghost                 the record, with the same value
//   kShadowed              the record              the shadow: a record, or a ghost (kShadowGhost)
//
// The value of a record flagged kShadowed (offsets in bytes, little-endian, not aligned):
//   0  .  the value now, or its descriptor (kLargeValue)
//   .  .  the shadow: the value before, or its descriptor (kShadowLarge)
//   .  2  length of the shadow, up to the end
// So offsets within the current value do not depend on whether there is a shadow.
//
// Resolution removes the flags. *kept*, once every snapshot sees the bulk: the record is what it is
// now. *undone*, if the bulk aborted: it is what it was before. Neither takes more room.
// A bulk that changes its own changes leaves no more behind than one change would.
//
// Source: Umbra-MVCC 3.2 for virtual versions. There a second slot holds the shadow; here keys stay
// unique in a leaf, so that searches, splits, counts and entries need no change.
// Thread-safety: pure functions. Those marked [optimistic] accept any bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {

/// The state of a record in a leaf.
struct RecordState {
  ByteView value;
  std::uint16_t flags = kPlainRecord;
};

/// What happens to a bulk's changes.
enum class Resolution : std::uint8_t { kept = 0, undone = 1 };

/// Whether records can have these flags, in-memory ones aside.
[[nodiscard]] bool are_record_flags(std::uint32_t flags) noexcept;
/// Whether this value can belong to these flags: a shadow must lie in it.
[[nodiscard]] bool is_stored_value(ByteView value, std::uint16_t flags) noexcept;

/// [optimistic] The record now, without flags of kVirtual.
[[nodiscard]] RecordState now_of(const RecordState& stored) noexcept;
/// [optimistic] The record before the bulk; nothing: there was none.
[[nodiscard]] std::optional<RecordState> before_of(const RecordState& stored) noexcept;

/// The stored state after a bulk inserts this record, or replaces it; `stored`: the state before,
/// if any. `is_needed`: a reader may still need a ghost's value. The result may lie in `memory`.
[[nodiscard]] RecordState stored_by_bulk(const std::optional<RecordState>& stored, bool is_needed,
                                         const RecordState& value, ValueBuffer& memory) noexcept;
/// The stored state after a bulk deletes the record; its value is part of the state before.
[[nodiscard]] RecordState deleted_by_bulk(const RecordState& stored) noexcept;
/// The stored state after resolution; its value is part of the state before.
[[nodiscard]] RecordState resolved(const RecordState& stored, Resolution how) noexcept;

/// The descriptor of the large value that `one` names and `other` does not; there is one at most.
[[nodiscard]] std::optional<ByteView> large_only_in(const RecordState& one,
                                                    const RecordState& other) noexcept;
/// Calls use(descriptor) for each large value that the record names, at most two.
template <class Use>
void for_each_large(const RecordState& stored, Use&& use) {
  if ((stored.flags & kNamesLarge) == 0) [[likely]] {
    return;
  }
  if ((stored.flags & kLargeValue) != 0) {
    use(now_of(stored).value);
  }
  if ((stored.flags & kShadowLarge) != 0) {
    use(before_of(stored)->value);
  }
}

}  // namespace palimpsest::btree
