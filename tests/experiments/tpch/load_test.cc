// Loads of TPC-H's tables in every mode: all rows are there, and failures are reported.
#include "experiments/tpch/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <type_traits>

#include "palimpsest/database.h"

#include "experiments/tpch/load_report.h"
#include "experiments/tpch/population.h"
#include "experiments/tpch/schemas.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::tpch {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
/// The number of lines of orders, at scale factor 0.01 with seed 1.
constexpr std::uint64_t kLines = 59'915;
constexpr std::uint64_t kRows = 5 + 25 + 100 + 1'500 + 2'000 + 8'000 + 15'000 + kLines;

LoadResult load(const LoadOptions& options) {
  ProgressDisplay silent(nullptr);
  return load(options, silent);
}

template <class Row>
void expect_rows(const TableOf<Row>& table, const Population& population, std::uint64_t count) {
  std::uint64_t found = 0;
  table.table().visit(Range::all(), [&](const RowView&) {
    ++found;
    return true;
  });
  EXPECT_EQ(found, count);
  Row row;
  for (std::uint64_t number = 0; number < count; ++number) {
    population.make(number, row);
    const std::optional<Row> stored = [&] {
      if constexpr (std::is_same_v<Row, PartSuppRow>) {
        return table.get({row.part, row.supplier});
      } else {
        return table.get({row.key});
      }
    }();
    ASSERT_TRUE(stored.has_value()) << number;
    ASSERT_TRUE(*stored == row) << number;
  }
}

void expect_all_rows(const Database& database, const Population& population) {
  const Tables tables(database);
  const Scale& scale = population.scale();
  expect_rows(tables.region, population, kRegions);
  expect_rows(tables.nation, population, kNations);
  expect_rows(tables.supplier, population, scale.suppliers());
  expect_rows(tables.customer, population, scale.customers());
  expect_rows(tables.part, population, scale.parts());
  expect_rows(tables.partsupp, population, scale.rows(TableId::partsupp));
  Cursor order = tables.orders.table().cursor();
  Cursor line = tables.lineitem.table().cursor();
  Order expected;
  for (std::uint64_t number = 0; number < scale.orders(); ++number, order.next()) {
    population.make(number, expected);
    ASSERT_TRUE(order.valid());
    ASSERT_TRUE(tables.orders.of(order.row()) == expected.row) << number;
    for (const LineItemRow& row : expected.lines()) {
      ASSERT_TRUE(line.valid());
      ASSERT_TRUE(tables.lineitem.of(line.row()) == row) << number;
      line.next();
    }
  }
  EXPECT_FALSE(order.valid() || line.valid()) << "rows that no load made";
}

using Way = std::tuple<LoadMode, bool, std::uint32_t>;

class TpchLoad : public testing::TestWithParam<Way> {};

TEST_P(TpchLoad, HasAllRows) {
  const auto& [mode, single_transaction, threads] = GetParam();
  const palimpsest::test::TemporaryDirectory directory;
  const LoadResult result = load({.directory = directory.path(),
                                  .memory_bytes = 64 * kMib,
                                  .version_bytes_max = 24 * kMib,
                                  .scale = Scale(0.01),
                                  .threads = threads,
                                  .mode = mode,
                                  .single_transaction = single_transaction});
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.rows, kRows);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.insert_seconds, 0);
  EXPECT_GT(result.data_bytes, 10 * kMib);
  EXPECT_GT(result.resident_bytes_max, 16 * kMib);
  // The creation of the tables has left a chunk of versions.
  EXPECT_EQ(result.version_bytes_max > kMib / 16, mode == LoadMode::snapshot)
      << result.version_bytes_max;
  const Database database = Database::open(directory.path(), {.create_if_missing = false});
  expect_all_rows(database, Population(1, Scale(0.01)));
}

INSTANTIATE_TEST_SUITE_P(
    All, TpchLoad,
    testing::Values(Way{LoadMode::none, false, 3}, Way{LoadMode::none, true, 2},
                    Way{LoadMode::snapshot, false, 3}, Way{LoadMode::snapshot, true, 2},
                    Way{LoadMode::bulk, false, 1}, Way{LoadMode::bulk, false, 3}));

TEST(TpchLoadFailure, IsTold) {
  const palimpsest::test::TemporaryDirectory directory;
  const LoadOptions options{.directory = directory.path(),
                            .memory_bytes = 32 * kMib,
                            .scale = Scale(0.03),
                            .threads = 1,
                            .mode = LoadMode::snapshot,
                            .single_transaction = true};
  const LoadResult result = load(options);
  EXPECT_THAT(result.error, testing::StartsWith("version_budget_exceeded: "));
  EXPECT_EQ(result.rows, 0U) << "the largest table came first";
  EXPECT_THAT(summary(options, result),
              testing::HasSubstr("the load failed: version_budget_exceeded"));
  EXPECT_EQ(to_json(options, result, {})["error"], result.error);
  const Database database = Database::open(directory.path(), {.create_if_missing = false});
  EXPECT_FALSE(database.table("lineitem").cursor().valid());
}

TEST(TpchLoadReport, HasWhatWasMeasured) {
  const LoadOptions options{
      .directory = "db", .memory_bytes = 64 * kMib, .threads = 2, .mode = LoadMode::bulk};
  const LoadResult result{.rows = 100, .seconds = 4, .version_bytes_max = 7, .data_bytes = 9};
  const nlohmann::json json = to_json(options, result, {});
  EXPECT_EQ(json["mode"], "bulk");
  EXPECT_EQ(json["single_transaction"], true);
  EXPECT_EQ(json["rows_per_s"], 25);
  EXPECT_EQ(json["version_bytes_max"], 7);
  EXPECT_EQ(json["data_bytes"], 9);
  EXPECT_TRUE(json["error"].is_null());
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
