// Pseudo-random numbers for workloads: fast enough to disappear beside one tree lookup.
//
// xoshiro256++ (Blackman and Vigna, 2019), seeded through splitmix64 so that any seed is a good one.
// The standard library's engines are several times slower or much larger, and its distributions
// differ between implementations, so that a seed would not name the same run everywhere.
// Thread-safety: none; one generator per thread.
#pragma once

#include <bit>
#include <cstdint>

namespace palimpsest::experiments {

/// A bijective mix of 64 bits (splitmix64's output function).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (std::uint64_t& word : state_) {
      seed = mix64(seed);
      word = seed;
    }
  }

  [[nodiscard]] constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, bound), bound at least 1 (multiply-shift; bias below bound / 2^64).
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * bound) >> 64U);
  }

  /// Uniform in [0, 1).
  [[nodiscard]] constexpr double unit() noexcept {
    return static_cast<double>(next() >> 11U) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_[4] = {};
};

}  // namespace palimpsest::experiments
