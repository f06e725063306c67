// What the formats of all files share.
#pragma once

#include <array>
#include <cstdint>

namespace palimpsest {

/// Names a database in each of its files.
using Uuid = std::array<std::uint8_t, 16>;

/// Largest counter of a file (sequence, GSN, batch number) that is believed: keeps room for
/// counting on, and no honest file gets near.
inline constexpr std::uint64_t kCounterMax = std::uint64_t{1} << 62U;

}  // namespace palimpsest
