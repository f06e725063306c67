#include "experiments/common/permutation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace palimpsest::experiments {
namespace {

TEST(Permutation, TakesEveryElementOnce) {
  for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 63U, 64U, 65U, 1000U, 65536U, 100'003U}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Permutation permutation(size, seed);
      std::vector<bool> seen(size, false);
      for (std::uint64_t index = 0; index < size; ++index) {
        const std::uint64_t element = permutation(index);
        ASSERT_LT(element, size);
        ASSERT_FALSE(seen[element]) << "size " << size << " seed " << seed << " index " << index;
        seen[element] = true;
      }
    }
  }
}

TEST(Permutation, DiffersBySeed) {
  const Permutation first(1000, 1);
  const Permutation second(1000, 2);
  int equal = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    equal += first(index) == second(index) ? 1 : 0;
  }
  EXPECT_LT(equal, 20);
}

// The popular ranks of a skewed workload must not share pages: adjacent ranks end up far apart.
TEST(Permutation, ScattersNeighbours) {
  constexpr std::uint64_t kSize = 1'000'000;
  const Permutation permutation(kSize, 7);
  int near = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const auto here = static_cast<std::int64_t>(permutation(index));
    const auto next = static_cast<std::int64_t>(permutation(index + 1));
    near += std::abs(here - next) < 1000 ? 1 : 0;
  }
  EXPECT_LT(near, 20);
}

// Ranks spread over all key ranges: the first thousand of a million hit each tenth about equally.
TEST(Permutation, CoversAllRanges) {
  constexpr std::uint64_t kSize = 1'000'000;
  const Permutation permutation(kSize, 3);
  std::vector<int> tenths(10, 0);
  for (std::uint64_t index = 0; index < 1000; ++index) {
    ++tenths[permutation(index) / (kSize / 10)];
  }
  for (const int count : tenths) {
    EXPECT_NEAR(count, 100, 60);
  }
}

}  // namespace
}  // namespace palimpsest::experiments
