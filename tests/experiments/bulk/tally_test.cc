// The work of threads between two moments.
#include "experiments/bulk/tally.h"

#include <gtest/gtest.h>

namespace palimpsest::experiments::bulk {
namespace {

Counts counts_of(const Tally& tally) {
  Counts counts;
  tally.add_to(counts);
  return counts;
}

TEST(Tally, CountsBetweenTwoMoments) {
  Tally tally;
  tally.add_rows(5);
  tally.record(1000);
  const Counts begin = counts_of(tally);
  tally.add_rows(7);
  tally.record(3000);
  tally.record(3000);
  const Counts between = since(counts_of(tally), begin);
  EXPECT_EQ(between.rows, 7);
  EXPECT_EQ(between.restarts, 0U);
  EXPECT_EQ(between.latency_ns.count(), 2U);
  EXPECT_GE(between.latency_ns.quantile(0.5), 3000U);
}

TEST(Tally, TakesOffRowsOfAttemptsThatBeginAgain) {
  Tally tally;
  tally.add_rows(10);
  tally.restart(4);
  EXPECT_EQ(counts_of(tally).rows, 6);
  EXPECT_EQ(counts_of(tally).restarts, 1U);
}

TEST(Tally, ARestartOfAnEarlierAttemptLeavesNothingBelowZero) {
  Tally tally;
  tally.add_rows(10);
  const Counts begin = counts_of(tally);
  tally.restart(10);
  EXPECT_EQ(since(counts_of(tally), begin).rows, 0);
}

TEST(Tally, SumsThreads) {
  Tally first;
  Tally second;
  first.add_rows(1);
  second.add_rows(2);
  second.record(5);
  Counts counts;
  first.add_to(counts);
  second.add_to(counts);
  EXPECT_EQ(counts.rows, 3);
  EXPECT_EQ(counts.latency_ns.count(), 1U);
}

}  // namespace
}  // namespace palimpsest::experiments::bulk
