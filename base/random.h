// A small fast random number generator: xoshiro256** (Blackman and Vigna) seeded by splitmix64.
//
// For workloads and tests, not for secrets. A seed gives the same sequence on every machine and in
// every version, so that a test can be rerun from its seed.
// Thread-safety: an object belongs to one thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/check.h"

namespace palimpsest {

/// The next value of a splitmix64 sequence; also a good way to mix one 64-bit value.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

/// A std::uniform_random_bit_generator of 64 bits.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (auto& word : state_) {
      word = splitmix64(seed);
    }
  }

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<std::uint64_t>::max(); }

  constexpr result_type operator()() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), exactly: one multiplication, and a rare repeat (Lemire's method).
  /// `bound` is not 0.
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    PALIMPSEST_DEBUG_CHECK(bound != 0, "Random::below(0)");
    Wide product = Wide{(*this)()} * bound;
    if (static_cast<std::uint64_t>(product) < bound) [[unlikely]] {
      const std::uint64_t uneven = (0 - bound) % bound;  // 2^64 modulo bound: values to reject
      while (static_cast<std::uint64_t>(product) < uneven) {
        product = Wide{(*this)()} * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Uniform in [low, high], both included; `low` is not above `high`.
  [[nodiscard]] constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
    PALIMPSEST_DEBUG_CHECK(low <= high, "Random::between with low above high");
    const std::uint64_t span = high - low;
    return span == max() ? (*this)() : low + below(span + 1);
  }

  /// True once in `n` calls on average.
  [[nodiscard]] constexpr bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

  /// Uniform in [0, 1), in steps of 2^-53.
  [[nodiscard]] constexpr double unit() noexcept {
    return static_cast<double>((*this)() >> 11) * 0x1.0p-53;
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::array<std::uint64_t, 4> state_{};  ///< never all zero
};

}  // namespace palimpsest
