#include "wal/slot_log.h"

#include <algorithm>
#include <array>
#include <bit>

namespace palimpsest::wal {

SlotLog::SlotLog(std::size_t capacity_bytes, std::size_t record_bytes_max)
    : capacity_(capacity_bytes), ring_(capacity_bytes, 64), scratch_(record_bytes_max, 64) {
  check(std::has_single_bit(capacity_bytes) && capacity_bytes >= 2 * record_bytes_max,
        "a log's ring holds its largest records");
}

// Copies a record that wraps around the ring's end from scratch_.
void SlotLog::copy_in(std::size_t at, std::size_t bytes) noexcept {
  const std::size_t first = capacity_ - at;
  std::memcpy(ring_.data() + at, scratch_.data(), first);
  std::memcpy(ring_.data(), scratch_.data() + first, bytes - first);
}

void SlotLog::copy_out(std::uint64_t from, MutableBytes into) const noexcept {
  if (into.empty()) {
    return;
  }
  const std::size_t at = from & (capacity_ - 1);
  const std::size_t first = std::min(into.size(), capacity_ - at);
  std::memcpy(into.data(), ring_.data() + at, first);
  std::memcpy(into.data() + first, ring_.data(), into.size() - first);
}

std::size_t SlotLog::record_bytes_at(Lsn lsn, Lsn end) const noexcept {
  std::array<std::byte, kLengthBytesMax> first;
  const MutableBytes some =
      MutableBytes(first).first(std::min<std::size_t>(first.size(), raw(end) - raw(lsn)));
  copy_out(raw(lsn), some);
  return wal::record_bytes_at(some);
}

Lsn SlotLog::whole_records(Lsn from, Lsn to, std::size_t bytes_max) const noexcept {
  if (raw(to) - raw(from) <= bytes_max) {
    return to;
  }
  std::uint64_t end = raw(from);
  for (;;) {
    const std::size_t bytes = record_bytes_at(Lsn{end}, to);
    if (end + bytes - raw(from) > bytes_max) {
      return Lsn{end};
    }
    end += bytes;
  }
}

}  // namespace palimpsest::wal
