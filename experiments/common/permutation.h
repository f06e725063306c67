// A pseudo-random bijection of [0, size): scatters the popular ranks of a skewed distribution over
// the key space, and gives random load orders, without a table.
//
// Two rounds of (odd multiplication, xor-shift) on the smallest power of two that holds `size`,
// both bijective there, repeated until the result falls below `size` (cycle walking: below two
// rounds on average). Hashing modulo `size`, as YCSB does, would merge ranks and so change the
// distribution.
// Thread-safety: immutable.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "experiments/common/mix.h"

namespace palimpsest::experiments {

class Permutation {
 public:
  /// `size` at least 1.
  Permutation(std::uint64_t size, std::uint64_t seed) noexcept
      : size_(size),
        bits_(static_cast<unsigned>(std::max(2, static_cast<int>(std::bit_width(size - 1))))),
        mask_(bits_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits_) - 1),
        offset_(mix64(seed) & mask_),
        multiplier_first_(mix64(seed + 1) | 1U),
        multiplier_second_(mix64(seed + 2) | 1U) {
    check(size >= 1, "a permutation has at least one element");
  }

  /// The element at position `index`, index < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const noexcept {
    do {
      index = round(index);
    } while (index >= size_);
    return index;
  }

 private:
  [[nodiscard]] std::uint64_t round(std::uint64_t value) const noexcept {
    const unsigned half = (bits_ + 1) / 2;
    value = (value + offset_) & mask_;
    value = (value * multiplier_first_) & mask_;
    value ^= value >> half;
    value = (value * multiplier_second_) & mask_;
    return value ^ (value >> half);
  }

  std::uint64_t size_;
  unsigned bits_;
  std::uint64_t mask_;
  std::uint64_t offset_;
  std::uint64_t multiplier_first_;
  std::uint64_t multiplier_second_;
};

}  // namespace palimpsest::experiments
