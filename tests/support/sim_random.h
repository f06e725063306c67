// The simulated disk's random numbers; tests may use them too.
#pragma once

#include <cstdint>

namespace palimpsest::test {

/// SplitMix64 (Steele, Lea, Flood 2014): small, and any seed is a good one.
class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed = 0) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  bool chance(std::uint64_t percent) noexcept { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace palimpsest::test
