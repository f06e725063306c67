// The numbers of rows of a scale factor, and which factors are refused.
#include "experiments/tpch/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "experiments/common/flag_checks.h"

namespace palimpsest::experiments::tpch {
namespace {

std::vector<std::uint64_t> rows_at(double factor) {
  std::vector<std::uint64_t> rows;
  rows.reserve(kTables.size());
  for (const TableId table : kTables) {
    rows.push_back(Scale(factor).rows(table));
  }
  return rows;
}

TEST(TpchScale, RowsAreThoseOfTheSpecification) {
  EXPECT_EQ(rows_at(1), (std::vector<std::uint64_t>{5, 25, 10'000, 150'000, 200'000, 800'000,
                                                    1'500'000, 6'000'000}));
  EXPECT_EQ(rows_at(0.01),
            (std::vector<std::uint64_t>{5, 25, 100, 1'500, 2'000, 8'000, 15'000, 60'000}));
  EXPECT_EQ(Scale(300).orders(), 450'000'000U);
  EXPECT_EQ(Scale(2).clerks(), 2'000U);
  EXPECT_EQ(Scale(2).complaints(), 10U);
  EXPECT_EQ(Scale(0.01).complaints(), 1U) << "there is always one";
}

TEST(TpchScale, RefusesFactorsThatMakeNoDatabase) {
  for (const double factor : {0.0, -1.0, 0.0009, 10'001.0, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(), 0.0102, 0.001}) {
    EXPECT_THROW(Scale{factor}, UsageError) << factor;
  }
  try {
    const Scale scale(0.0102);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("102 suppliers"));
  }
}

/// By brute force: Scale checks only a few parts.
bool all_parts_have_four(std::uint64_t suppliers, std::uint64_t parts) {
  for (std::uint64_t part = 1; part <= parts; ++part) {
    std::set<std::uint64_t> chosen;
    for (std::uint64_t choice = 0; choice < kSuppliersOfPart; ++choice) {
      const std::uint64_t supplier = supplier_of(part, choice, suppliers);
      EXPECT_GE(supplier, 1U);
      EXPECT_LE(supplier, suppliers);
      chosen.insert(supplier);
    }
    if (chosen.size() != kSuppliersOfPart) {
      return false;
    }
  }
  return true;
}

TEST(TpchScale, AcceptsExactlyThoseWhosePartsHaveFourSuppliers) {
  int accepted = 0;
  for (int hundreds = 10; hundreds <= 310; ++hundreds) {
    const double factor = hundreds / 1e4;
    bool fits = true;
    try {
      const Scale scale(factor);
      ++accepted;
      EXPECT_TRUE(all_parts_have_four(scale.suppliers(), scale.parts())) << factor;
    } catch (const UsageError&) {
      fits = false;
      EXPECT_FALSE(all_parts_have_four(static_cast<std::uint64_t>(hundreds),
                                       static_cast<std::uint64_t>(hundreds) * 20))
          << factor;
    }
    EXPECT_TRUE(fits || factor < 0.03) << factor << ": what the message promises";
  }
  EXPECT_GT(accepted, 50);
  EXPECT_TRUE(all_parts_have_four(Scale(1).suppliers(), Scale(1).parts()));
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
