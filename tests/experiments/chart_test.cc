#include "experiments/common/chart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace palimpsest::experiments {
namespace {

TEST(Chart, DrawsValuesAgainstTheLargest) {
  const std::vector<double> values = {0, 50, 100};
  EXPECT_EQ(chart("rate", values, 1.0, {.columns = 10, .rows = 2}),
            "rate\n"
            "100 |  █\n"
            "  0 | ██\n"
            "    +---\n"
            "     0 3 s\n");
}

TEST(Chart, DrawsEighths) {
  const std::vector<double> values = {1, 4, 8};
  EXPECT_EQ(chart("t", values, 2.0, {.columns = 3, .rows = 1}),
            "t\n"
            "8 |▁▄█\n"
            "  +---\n"
            "   0 6 s\n");
}

TEST(Chart, ShrinksToMeans) {
  const std::vector<double> values = {0, 8, 8, 8};
  EXPECT_EQ(chart("t", values, 1.0, {.columns = 2, .rows = 1}),
            "t\n"
            "8 |▄█\n"
            "  +--\n"
            "   0 4 s\n");
}

TEST(Chart, NothingIsAFlatLine) {
  EXPECT_EQ(chart("t", {}, 1.0), "");
  const std::vector<double> zeros = {0, 0};
  EXPECT_EQ(chart("t", zeros, 1.0, {.columns = 2, .rows = 1}), "t\n0 |  \n  +--\n   0 2 s\n");
}

}  // namespace
}  // namespace palimpsest::experiments
