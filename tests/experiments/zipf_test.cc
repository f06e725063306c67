#include "experiments/common/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::experiments {
namespace {

/// Exact probabilities, by the definition.
std::vector<double> probabilities(std::uint64_t count, double theta) {
  std::vector<double> weights;
  double sum = 0;
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    weights.push_back(std::pow(static_cast<double>(rank + 1), -theta));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

TEST(Zipf, FrequenciesAreThoseOfTheDefinition) {
  constexpr int kDraws = 400'000;
  Random random(test::seed());
  for (const double theta : {0.01, 0.5, 0.8, 0.99}) {
    for (const std::uint64_t count : {2U, 10U, 1000U}) {
      const Zipf zipf(count, theta);
      const std::vector<double> expected = probabilities(count, theta);
      std::vector<int> seen(count, 0);
      for (int i = 0; i < kDraws; ++i) {
        const std::uint64_t rank = zipf(random);
        ASSERT_LT(rank, count);
        ++seen[rank];
      }
      // Chi-square: exceeded by chance once in 10^7 or less, for few ranks and for many.
      double deviation = 0;
      for (std::uint64_t rank = 0; rank < count; ++rank) {
        const double mean = expected[rank] * kDraws;
        deviation += (seen[rank] - mean) * (seen[rank] - mean) / mean;
      }
      const auto freedom = static_cast<double>(count - 1);
      EXPECT_LT(deviation, freedom + 6 * std::sqrt(2 * freedom) + 20)
          << "theta " << theta << " count " << count;
    }
  }
}

// With 0.99, the top 1 % of a million keys draw 68 % (exact sum), which makes it a hot-spot
// workload.
TEST(Zipf, ConcentratesOverAMillionAsTheSumSays) {
  constexpr std::uint64_t kCount = 1'000'000;
  constexpr int kDraws = 200'000;
  const std::vector<double> expected = probabilities(kCount, 0.99);
  double top = 0;
  for (std::uint64_t rank = 0; rank < kCount / 100; ++rank) {
    top += expected[rank];
  }
  Random random(test::seed());
  const Zipf zipf(kCount, 0.99);
  int hits = 0;
  for (int i = 0; i < kDraws; ++i) {
    hits += zipf(random) < kCount / 100 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(hits) / kDraws, top, 0.01);
}

TEST(Zipf, OneRankIsAlwaysDrawn) {
  Random random(test::seed());
  const Zipf zipf(1, 0.99);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(zipf(random), 0U);
  }
}

TEST(ZipfDeathTest, RefusesThetaOutsideItsRange) {
  EXPECT_DEATH(Zipf(10, 1.0), "theta");
  EXPECT_DEATH(Zipf(10, 0.0), "theta");
}

}  // namespace
}  // namespace palimpsest::experiments
