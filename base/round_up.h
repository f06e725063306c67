// Rounding up to the next multiple of a unit.
#pragma once

#include <cstddef>

namespace palimpsest {

/// `unit` is not 0; the result must fit.
[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace palimpsest
