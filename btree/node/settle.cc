#include "btree/node/settle.h"

#include "base/check.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {

std::optional<ByteView> given_up_by_settling(const LeafView& leaf, SlotIndex slot,
                                             Settling how) noexcept {
  const RecordState stored = stored_in(leaf, slot);
  if ((stored.flags & kNamesLarge) == 0) [[likely]] {
    return std::nullopt;
  }
  return large_only_in(stored, settled(stored, how));
}

void settle_records(LeafNode leaf, std::span<const SlotIndex> slots, Settling how,
                    BulkEpoch epoch) noexcept {
  for (const SlotIndex slot : slots) {
    const RecordState stored = stored_in(leaf, slot);
    PALIMPSEST_DEBUG_CHECK((stored.flags & kVirtual) != 0, "what is settled is virtual");
    const RecordState after = settled(stored, how);
    if (after.value.size() != stored.value.size()) {
      ValueBuffer value;
      value.assign_clamped(after.value);
      const bool fits = leaf.replace_value(slot, value.view());
      check(fits, "settling takes no more room");
    }
    leaf.set_flags(slot,
                   static_cast<std::uint16_t>(after.flags | (leaf.flags(slot) & kInMemoryOnly)));
  }
  leaf.set_bulk_epoch(epoch);
}

}  // namespace palimpsest::btree
