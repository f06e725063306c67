// What versions, and what serializable transactions have read, may take of a database's memory,
// unless its options say.
#pragma once

#include <algorithm>
#include <cstdint>

namespace palimpsest::engine {

/// Less than this is of no use, with the smallest pages and pools.
inline constexpr std::uint64_t kVersionBytesMin = std::uint64_t{256} << 10U;

[[nodiscard]] constexpr std::uint64_t default_version_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t kShareOfMemory = 16;
  return std::max(memory_bytes / kShareOfMemory, kVersionBytesMin);
}

/// A set of reads is coarse with less than this (versioning/read_set.h).
inline constexpr std::uint64_t kReadBytesMin = std::uint64_t{64} << 10U;

[[nodiscard]] constexpr std::uint64_t default_read_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t kShareOfMemory = 64;
  return std::max(memory_bytes / kShareOfMemory, kReadBytesMin);
}

}  // namespace palimpsest::engine
