// Code shared by the stores of Palimpsest's peers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "experiments/oltp/store.h"

namespace palimpsest::experiments::oltp {

/// Size of pages and blocks of all engines: Palimpsest's default.
inline constexpr std::uint32_t kPageBytes = 4096;

/// Maximum log before an engine flushes or checkpoints the logged changes: four times the memory,
/// within 256 MiB to 4 GiB, as Palimpsest's default (Options::log_bytes_max).
[[nodiscard]] constexpr std::uint64_t log_bytes_max(const StoreSettings& settings) noexcept {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  return std::clamp(4 * std::min(settings.memory_bytes, 4096 * kMib), 256 * kMib, 4096 * kMib);
}

/// Whether `part` lies within `whole`: a change may return the memory that it was given, which the
/// engine is about to overwrite.
[[nodiscard]] inline bool lies_within(ByteView part, ByteView whole) noexcept {
  const std::less_equal<const char*> before;
  return !part.empty() && before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace palimpsest::experiments::oltp
