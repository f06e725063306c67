#include "btree/node/resolve_records.h"

#include "base/check.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {

std::optional<ByteView> freed_by_resolution(const LeafView& leaf, SlotIndex slot,
                                            Resolution how) noexcept {
  const RecordState stored = stored_in(leaf, slot);
  if ((stored.flags & kNamesLarge) == 0) [[likely]] {
    return std::nullopt;
  }
  return large_only_in(stored, resolved(stored, how));
}

void resolve_records(LeafNode leaf, std::span<const SlotIndex> slots, Resolution how,
                     BulkEpoch epoch) noexcept {
  for (const SlotIndex slot : slots) {
    const RecordState stored = stored_in(leaf, slot);
    PALIMPSEST_DEBUG_CHECK((stored.flags & kVirtual) != 0, "only a virtual version is resolved");
    const RecordState after = resolved(stored, how);
    if (after.value.size() != stored.value.size()) {
      ValueBuffer value;
      value.assign_clamped(after.value);
      const bool fits = leaf.replace_value(slot, value.view());
      check(fits, "resolution takes no more room");
    }
    leaf.set_flags(slot,
                   static_cast<std::uint16_t>(after.flags | (leaf.flags(slot) & kInMemoryOnly)));
  }
  leaf.set_bulk_epoch(epoch);
}

}  // namespace palimpsest::btree
