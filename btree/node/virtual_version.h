// Virtual versions: what a bulk has done to a record, and what the record was before, in the bytes
// and flags of its one slot.
//
// A leaf's header names the bulk by its epoch. Who sees the bulk's changes sees the record as it is
// now, everybody else as it was before (versioning/bulk_epochs.h). Older versions, in memory, are
// older than the bulk: they are taken back from what it was before.
//
//   flags                  now                     before the bulk
//   none of kVirtual       the record, or ghost    the same
//   kCreated               the record              nothing, or a ghost that nobody needs
//   kDeleted and kGhost    a ghost                 the record, its value the same
//   kShadowed              the record              the shadow: a record, or with kShadowGhost a
//   ghost
//
// The value of a record flagged kShadowed (offsets in bytes, little-endian, not aligned):
//   0  .  the value now, or its descriptor (kLargeValue)
//   .  .  the shadow: the value before, or its descriptor (kShadowLarge)
//   .  2  length of the shadow, up to the end
// So places within the value now are the same whether or not there is a shadow.
//
// Resolution takes the flags away: *kept*, once everybody sees the bulk, the record is what it is
// now; *undone*, if the bulk came to nothing, it is what it was. Either takes no more room.
// What a bulk does to its own changes leaves no more behind than doing it at once would.
//
// Source: Umbra-MVCC 3.2 for virtual versions. There a second slot holds the shadow; here keys stay
// unique in a leaf, so that searches, splits, counts and entries are what they were.
// Thread-safety: pure functions. Those marked [optimistic] may be given any bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "btree/node/node_layout.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {

/// What a leaf holds for a key.
struct RecordState {
  ByteView value;
  std::uint16_t flags = kPlainRecord;
};

/// What becomes of a bulk's changes.
enum class Resolution : std::uint8_t { kept = 0, undone = 1 };

/// Whether records can have these flags, but for those in memory only.
[[nodiscard]] bool are_record_flags(std::uint32_t flags) noexcept;
/// Whether such a value can belong to such flags: a shadow lies in it.
[[nodiscard]] bool is_stored_value(ByteView value, std::uint16_t flags) noexcept;

/// [optimistic] The record now, without flags of kVirtual.
[[nodiscard]] RecordState now_of(const RecordState& stored) noexcept;
/// [optimistic] The record before the bulk; nothing: there was none.
[[nodiscard]] std::optional<RecordState> before_of(const RecordState& stored) noexcept;

/// What a bulk leaves that inserts this record, or replaces it; `stored`: what there is, if
/// anything. `is_needed`: somebody may still want to see a ghost's value. The result may lie in
/// `memory`.
[[nodiscard]] RecordState stored_by_bulk(const std::optional<RecordState>& stored, bool is_needed,
                                         const RecordState& value, ValueBuffer& memory) noexcept;
/// What a bulk leaves that deletes the record; its value is a part of what there is.
[[nodiscard]] RecordState deleted_by_bulk(const RecordState& stored) noexcept;
/// What resolution leaves; its value is a part of what there is.
[[nodiscard]] RecordState resolved(const RecordState& stored, Resolution how) noexcept;

/// The descriptor of the large value that `one` names and `other` does not; there is one at most.
[[nodiscard]] std::optional<ByteView> large_only_in(const RecordState& one,
                                                    const RecordState& other) noexcept;
/// Calls use(descriptor) for each large value that it names, at most two.
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
