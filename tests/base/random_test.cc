#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <set>

#include "tests/support/seed.h"

namespace palimpsest {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

// The first outputs of splitmix64 from 0, as its authors publish them.
TEST(Random, SplitmixMatchesItsReference) {
  std::uint64_t state = 0;
  EXPECT_EQ(splitmix64(state), 0xe220a8397b1dcdafU);
  EXPECT_EQ(splitmix64(state), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(splitmix64(state), 0x06c45d188009454fU);
}

// A second xoshiro256**, written after its definition.
TEST(Random, GeneratorMatchesItsDefinition) {
  std::uint64_t seed_state = 42;
  std::array<std::uint64_t, 4> s{};
  for (auto& word : s) {
    word = splitmix64(seed_state);
  }
  const auto rotl = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  Random random(42);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t expected = rotl(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    ASSERT_EQ(random(), expected) << "output " << i;
  }
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(test::seed());
  for (const std::uint64_t bound : {1U, 2U, 3U, 7U, 10U}) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 2000; ++i) {
      const auto value = random.below(bound);
      ASSERT_LT(value, bound);
      seen.insert(value);
    }
    EXPECT_EQ(seen.size(), bound);
  }
}

// With bound 3 * 2^62 a plain modulo would draw the lower third twice as often as the rest.
TEST(Random, BelowHasNoModuloBias) {
  Random random(test::seed());
  constexpr std::uint64_t kThird = std::uint64_t{1} << 62;
  std::array<int, 3> counts{};
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) {
    ++counts[random.below(3 * kThird) / kThird];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, kDraws / 3.0, 600) << "more than seven standard deviations off";
  }
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(test::seed());
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(random.between(5, 8));
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{5, 6, 7, 8}));
  EXPECT_EQ(random.between(9, 9), 9U);
  Random same(1);
  Random plain(1);
  EXPECT_EQ(same.between(0, std::numeric_limits<std::uint64_t>::max()), plain());
}

TEST(Random, UnitIsHalfOpenAndCentred) {
  Random random(test::seed());
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.03) << "ten standard deviations off";
}

}  // namespace
}  // namespace palimpsest
