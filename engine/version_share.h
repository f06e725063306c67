// What versions may take of a database's memory, unless its options say.
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

}  // namespace palimpsest::engine
