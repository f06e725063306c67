// The seed of a random test: from PALIMPSEST_SEED, or a fresh one; printed either way.
#pragma once

#include <cstdint>

namespace palimpsest::test {

/// The value of the environment variable PALIMPSEST_SEED (decimal, or 0x and hexadecimal) or, where
/// it is not set, a new random one. Prints how to run the same test again. Aborts on a malformed
/// value.
[[nodiscard]] std::uint64_t seed();

}  // namespace palimpsest::test
