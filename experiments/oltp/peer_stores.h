// What the stores of Palimpsest's peers have in common.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"
#include "experiments/oltp/store.h"

namespace palimpsest::experiments::oltp {

/// Pages and blocks of all engines: the size that Palimpsest has unless told otherwise.
inline constexpr std::uint32_t kPageBytes = 4096;

/// Most log before an engine flushes or checkpoints what the log is there for: four times the
/// memory, but 256 MiB to 4 GiB. What Palimpsest does by itself (Options::log_bytes_max).
[[nodiscard]] constexpr std::uint64_t log_bytes_max(const StoreSettings& settings) noexcept {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
  return std::clamp(4 * std::min(settings.memory_bytes, 4096 * kMib), 256 * kMib, 4096 * kMib);
}

/// Whether `part` lies within `whole`: what a change returns may be what it was given, whose place
/// the engine is about to use.
[[nodiscard]] inline bool lies_within(ByteView part, ByteView whole) noexcept {
  const std::less_equal<const char*> before;
  return !part.empty() && before(whole.data(), part.data()) &&
         before(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace palimpsest::experiments::oltp
