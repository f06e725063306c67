// Definitions shared by the formats of all files.
#pragma once

#include <array>
#include <cstdint>

namespace palimpsest {

/// Identifies a database; stored in each of its files.
using Uuid = std::array<std::uint8_t, 16>;

/// Largest counter (sequence, GSN, batch number) that a reader accepts from a file. It leaves room
/// to count on, and no undamaged file comes near it.
inline constexpr std::uint64_t kCounterMax = std::uint64_t{1} << 62U;

}  // namespace palimpsest
