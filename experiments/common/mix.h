// A bijective mix of 64 bits: turns record numbers and seeds into well-spread words.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace palimpsest::experiments {

[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t value) noexcept {
  return splitmix64(value);
}

}  // namespace palimpsest::experiments
