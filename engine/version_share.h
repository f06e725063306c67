// The default shares of a database's memory for versions and for the read sets of serializable
// transactions.
#pragma once

#include <algorithm>
#include <cstdint>

namespace palimpsest::engine {

/// Less than this is of no use, even with the smallest pages and pools.
inline constexpr std::uint64_t kVersionBytesMin = std::uint64_t{256} << 10U;

[[nodiscard]] constexpr std::uint64_t default_version_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t kShareOfMemory = 16;
  return std::max(memory_bytes / kShareOfMemory, kVersionBytesMin);
}

/// With less than this, read sets are coarse (versioning/read_set.h).
inline constexpr std::uint64_t kReadBytesMin = std::uint64_t{64} << 10U;

[[nodiscard]] constexpr std::uint64_t default_read_bytes(std::uint64_t memory_bytes) noexcept {
  constexpr std::uint64_t kShareOfMemory = 64;
  return std::max(memory_bytes / kShareOfMemory, kReadBytesMin);
}

}  // namespace palimpsest::engine
