#include "btree/node/virtual_version.h"

#include <algorithm>
#include <cstring>

namespace palimpsest::btree {
namespace {

/// A value with a shadow, taken apart; from any bytes.
struct Shadowed {
  ByteView value;
  ByteView shadow;
};

Shadowed take_apart(ByteView stored) noexcept {
  std::uint16_t shadow_len = 0;
  if (stored.size() < sizeof shadow_len) {
    return {stored, stored.substr(0, 0)};
  }
  const std::size_t both = stored.size() - sizeof shadow_len;
  std::memcpy(&shadow_len, stored.data() + both, sizeof shadow_len);
  const std::size_t value_len = both - std::min<std::size_t>(shadow_len, both);
  return {stored.substr(0, value_len), stored.substr(value_len, both - value_len)};
}

unsigned flag_if(bool is_set, RecordFlags flag) noexcept {
  return is_set ? static_cast<unsigned>(flag) : 0U;
}

std::uint16_t without(std::uint16_t flags, unsigned taken) noexcept {
  return static_cast<std::uint16_t>(flags & ~taken);
}

std::uint16_t with(std::uint16_t flags, unsigned added) noexcept {
  return static_cast<std::uint16_t>(flags | added);
}

/// The flags of a record with a shadow that had these flags.
std::uint16_t shadow_flags(std::uint16_t flags) noexcept {
  return with(kShadowed, flag_if((flags & kLargeValue) != 0, kShadowLarge) |
                             flag_if((flags & kGhost) != 0, kShadowGhost));
}

RecordState with_shadow(const RecordState& value, const RecordState& shadow,
                        ValueBuffer& memory) noexcept {
  const auto shadow_len = static_cast<std::uint16_t>(shadow.value.size());
  char length[sizeof shadow_len];
  std::memcpy(length, &shadow_len, sizeof shadow_len);
  memory.assign_clamped(value.value);
  memory.append(shadow.value);
  memory.append({length, sizeof length});
  return {memory.view(), with(value.flags, shadow_flags(shadow.flags))};
}

}  // namespace

bool are_record_flags(std::uint32_t flags) noexcept {
  if ((flags & ~std::uint32_t{kRecordFlagsKnown}) != 0) {
    return false;
  }
  switch (flags & kVirtual) {
    case 0:
    case kCreated:
      return (flags & (kShadowLarge | kShadowGhost)) == 0 &&
             ((flags & kCreated) == 0 || (flags & kGhost) == 0);
    case kDeleted: return (flags & kGhost) != 0 && (flags & (kShadowLarge | kShadowGhost)) == 0;
    case kShadowed: return (flags & kGhost) == 0;
    default: return false;
  }
}

bool is_stored_value(ByteView value, std::uint16_t flags) noexcept {
  if ((flags & kShadowed) == 0) {
    return true;
  }
  std::uint16_t shadow_len = 0;
  if (value.size() < sizeof shadow_len) {
    return false;
  }
  std::memcpy(&shadow_len, value.data() + value.size() - sizeof shadow_len, sizeof shadow_len);
  return shadow_len <= value.size() - sizeof shadow_len;
}

RecordState now_of(const RecordState& stored) noexcept {
  return {(stored.flags & kShadowed) != 0 ? take_apart(stored.value).value : stored.value,
          without(stored.flags, kVirtual | kShadowLarge | kShadowGhost)};
}

std::optional<RecordState> before_of(const RecordState& stored) noexcept {
  if ((stored.flags & kCreated) != 0) {
    return std::nullopt;
  }
  if ((stored.flags & kDeleted) != 0) {
    return RecordState{stored.value, without(stored.flags, kDeleted | kGhost)};
  }
  if ((stored.flags & kShadowed) != 0) {
    const unsigned flags = flag_if((stored.flags & kShadowLarge) != 0, kLargeValue) |
                           flag_if((stored.flags & kShadowGhost) != 0, kGhost);
    return RecordState{take_apart(stored.value).shadow, static_cast<std::uint16_t>(flags)};
  }
  return stored;
}

RecordState stored_by_bulk(const std::optional<RecordState>& stored, bool is_needed,
                           const RecordState& value, ValueBuffer& memory) noexcept {
  const bool is_idle_ghost =
      stored && !is_needed && (stored->flags & kGhost) != 0 && (stored->flags & kDeleted) == 0;
  if (!stored || is_idle_ghost) {
    return {value.value, with(value.flags, kCreated)};
  }
  const std::optional<RecordState> before = before_of(*stored);
  return before ? with_shadow(value, *before, memory)
                : RecordState{value.value, with(value.flags, kCreated)};
}

// A record that the bulk itself created becomes a plain ghost.
RecordState deleted_by_bulk(const RecordState& stored) noexcept {
  const std::optional<RecordState> before = before_of(stored);
  if (!before) {
    return {stored.value, with(without(stored.flags, kCreated), kGhost)};
  }
  const bool was_ghost = (before->flags & kGhost) != 0;
  return {before->value, was_ghost ? before->flags : with(before->flags, kGhost | kDeleted)};
}

RecordState resolved(const RecordState& stored, Resolution how) noexcept {
  if (how == Resolution::kept) {
    return now_of(stored);
  }
  const std::optional<RecordState> before = before_of(stored);
  return before ? *before : deleted_by_bulk(stored);
}

std::optional<ByteView> large_only_in(const RecordState& one, const RecordState& other) noexcept {
  std::optional<ByteView> found;
  for_each_large(one, [&](ByteView descriptor) {
    bool is_in_both = false;
    for_each_large(other, [&](ByteView also) { is_in_both = is_in_both || also == descriptor; });
    if (!is_in_both) {
      found = descriptor;
    }
  });
  return found;
}

}  // namespace palimpsest::btree
