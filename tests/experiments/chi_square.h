// Pearson's chi-square test of counts against probabilities, for tests with fixed seeds.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace palimpsest::experiments::test {

/// Counts of values [0, size), compared with their probabilities.
class Counts {
 public:
  explicit Counts(std::size_t size) : counts_(size) {}

  void add(std::int64_t value) {
    ASSERT_GE(value, 0);
    ASSERT_LT(static_cast<std::size_t>(value), counts_.size());
    ++counts_[static_cast<std::size_t>(value)];
    ++total_;
  }

  /// Fails by chance once in a million: if the statistic is above its mean by more than 5 standard
  /// deviations.
  void expect(const std::vector<double>& probabilities) const {
    ASSERT_EQ(probabilities.size(), counts_.size());
    double statistic = 0;
    double freedom = -1;
    for (std::size_t value = 0; value < counts_.size(); ++value) {
      const double expected = probabilities[value] * static_cast<double>(total_);
      if (expected == 0) {
        EXPECT_EQ(counts_[value], 0U) << "value " << value;
        continue;
      }
      const double difference = static_cast<double>(counts_[value]) - expected;
      statistic += difference * difference / expected;
      ++freedom;
    }
    EXPECT_LT(statistic, freedom + 5 * std::sqrt(2 * freedom) + 5) << freedom << " degrees";
  }

  void expect_uniform() const {
    expect(std::vector<double>(counts_.size(), 1.0 / static_cast<double>(counts_.size())));
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
};

/// The probabilities of NURand(a, low, high) with the constant c, by enumeration; index 0 is `low`.
inline std::vector<double> non_uniform_probabilities(int a, int low, int high, int c) {
  const int size = high - low + 1;
  const double step = 1.0 / (static_cast<double>(a + 1) * size);
  std::vector<double> probabilities(static_cast<std::size_t>(size));
  for (int mask = 0; mask <= a; ++mask) {
    for (int value = low; value <= high; ++value) {
      probabilities[static_cast<std::size_t>(((mask | value) + c) % size)] += step;
    }
  }
  return probabilities;
}

}  // namespace palimpsest::experiments::test
