// The checksum of everything this engine writes to disk: XXH3-64, seed 0, as defined by xxHash.
//
// Why XXH3: 64 bits are enough to detect damage, and for a 4 KiB page it costs about as much as
// copying the page. It does not defend against deliberate forgery.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace palimpsest {

/// XXH3-64 of the bytes. The same on every machine; uses AVX2 where the processor has it.
[[nodiscard]] std::uint64_t checksum(ConstBytes bytes) noexcept;

}  // namespace palimpsest
