// A cell of a mapping table: an entry and its hash, in one word. A search, or the growth of a
// table, thus reads no entry but the one it looks for: entries lie far from each other.
//
// Thread-safety: a value, under the latch of its table.
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/prefetch.h"
#include "versioning/entry.h"

namespace palimpsest::versioning {

class TableCell {
 public:
  /// An empty cell.
  TableCell() noexcept = default;
  explicit TableCell(Entry& entry) noexcept
      : word_(std::bit_cast<std::uintptr_t>(&entry) / kCacheLineBytes << Entry::kHashBits |
              entry.hash()) {
    PALIMPSEST_DEBUG_CHECK(this->entry() == &entry, "an entry begins a line, in 47 bits");
  }

  [[nodiscard]] bool is_empty() const noexcept { return word_ == 0; }
  /// Null if it is empty.
  [[nodiscard]] Entry* entry() const noexcept {
    return std::bit_cast<Entry*>((word_ >> Entry::kHashBits) * kCacheLineBytes);
  }
  [[nodiscard]] std::uint32_t hash() const noexcept {
    return static_cast<std::uint32_t>(word_ & ((std::uint64_t{1} << Entry::kHashBits) - 1));
  }

 private:
  static_assert(Entry::kHashBits + 47 - std::countr_zero(kCacheLineBytes) <= 64);

  std::uint64_t word_ = 0;
};

static_assert(sizeof(TableCell) == 8);

}  // namespace palimpsest::versioning
