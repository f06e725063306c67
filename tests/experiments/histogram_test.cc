#include "experiments/common/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "experiments/common/live_histogram.h"
#include "tests/support/seed.h"

namespace palimpsest::experiments {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.quantile(0.99), 0U);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 128; ++value) {
    histogram.record(value);
  }
  for (std::uint64_t value = 0; value < 128; ++value) {
    EXPECT_EQ(histogram.quantile(static_cast<double>(value + 1) / 128), value);
  }
}

TEST(Histogram, EveryMagnitudeIsWithinOneSixtyFourthAbove) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{12345}}) {
      const std::uint64_t value = (std::uint64_t{1} << bit) + offset;
      Histogram histogram;
      histogram.record(value);
      histogram.record(std::numeric_limits<std::uint64_t>::max());  // so that max does not bound it
      const std::uint64_t seen = histogram.quantile(0.5);
      EXPECT_GE(seen, value);
      EXPECT_LE(seen - value, value / 64) << value;
    }
  }
}

TEST(Histogram, NeverExceedsTheLargestValue) {
  Histogram histogram;
  histogram.record(1'000'003);
  EXPECT_EQ(histogram.quantile(1.0), 1'000'003U);
  EXPECT_EQ(histogram.quantile(0.5), 1'000'003U);
  EXPECT_EQ(histogram.max(), 1'000'003U);
}

TEST(Histogram, ForgetsEverythingWhenCleared) {
  Histogram histogram;
  histogram.record(5);
  histogram.record(70'000);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  histogram.record(3);
  EXPECT_EQ(histogram.quantile(1.0), 3U);
}

TEST(Histogram, QuantilesAgreeWithSortedValues) {
  Random random(test::seed());
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random() >> random.below(60));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double fraction : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<std::size_t>(fraction * static_cast<double>(values.size()));
    const std::uint64_t exact = values[rank - 1];
    EXPECT_GE(histogram.quantile(fraction), exact);
    EXPECT_LE(histogram.quantile(fraction), exact + exact / 64 + 1);
  }
}

TEST(Histogram, MergingIsRecordingBoth) {
  Random random(test::seed());
  Histogram first;
  Histogram second;
  Histogram both;
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t value = random.below(1'000'000);
    (i % 3 == 0 ? first : second).record(value);
    both.record(value);
  }
  second.record(2'000'000);
  both.record(2'000'000);
  first.merge(second);
  EXPECT_EQ(first.count(), both.count());
  EXPECT_EQ(first.max(), both.max());
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(first.quantile(percent / 100.0), both.quantile(percent / 100.0));
  }
}

TEST(Histogram, SinceIsWhatWasRecordedAfterwards) {
  Histogram histogram;
  histogram.record(5);
  histogram.record(1'000'000);
  const Histogram earlier = histogram;
  EXPECT_EQ(histogram.since(earlier).count(), 0U);
  EXPECT_EQ(histogram.since(earlier).max(), 0U);
  histogram.record(7);
  histogram.record(300);
  const Histogram later = histogram.since(earlier);
  EXPECT_EQ(later.count(), 2U);
  EXPECT_EQ(later.quantile(0.5), 7U);
  EXPECT_GE(later.max(), 300U) << "not the million before";
  EXPECT_LE(later.max(), 300U + 300U / 64);
}

TEST(LiveHistogram, ShowsWhatItsThreadHasRecorded) {
  const auto live = std::make_unique<LiveHistogram>();
  Random random(test::seed());
  Histogram expected;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t value = random() >> random.below(60);
    live->record(value);
    expected.record(value);
  }
  Histogram seen;
  live->add_to(seen);
  EXPECT_EQ(seen.count(), expected.count());
  EXPECT_EQ(seen.max(), expected.max());
  for (const double fraction : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_EQ(seen.quantile(fraction), expected.quantile(fraction));
  }
}

TEST(LiveHistogram, LosesNothingThatIsLookedAtMeanwhile) {
  constexpr std::uint64_t kValues = 200'000;
  const auto live = std::make_unique<LiveHistogram>();
  std::atomic<bool> ended{false};
  std::jthread records([&] {
    for (std::uint64_t value = 0; value < kValues; ++value) {
      live->record(value);
    }
    ended = true;
  });
  Histogram last;
  std::uint64_t sum = 0;
  for (bool whole = false; !whole;) {
    whole = ended.load();
    Histogram now;
    live->add_to(now);
    sum += now.since(last).count();
    last = now;
  }
  EXPECT_EQ(sum, kValues);
  EXPECT_EQ(last.max(), kValues - 1);
}

}  // namespace
}  // namespace palimpsest::experiments
