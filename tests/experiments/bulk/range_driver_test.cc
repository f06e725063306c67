// Runs of range_bench on an engine in memory: the measurements, and that damage is noticed.
#include "experiments/bulk/range_driver.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/range_report.h"
#include "experiments/common/flag_checks.h"
#include "experiments/common/record_key.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::bulk {
namespace {

/// Survives the close of the engine.
struct Stored {
  std::set<std::uint64_t> rows;
  std::uint64_t lost = 0;  ///< rows that are lost at the end
};

class MemoryRange final : public RangeEngine {
 public:
  explicit MemoryRange(Stored& stored) : stored_(stored) {}

  void ingest(std::uint64_t rows) override {
    for (std::uint64_t number = 0; number < rows - stored_.lost; ++number) {
      stored_.rows.insert(number);
    }
  }
  void erase_below(std::uint64_t end) override {
    stored_.rows.erase(stored_.rows.begin(), stored_.rows.lower_bound(end));
  }
  double reclaim() override { return 0.5; }
  FoundRows find_rows(std::uint64_t rows_max) override {
    FoundRows found;
    Row row;
    for (const std::uint64_t number : stored_.rows) {
      if (found.rows == rows_max) {
        break;
      }
      make_row(number, row);
      see_row(found, number, RowValue(row).view());
    }
    return found;
  }
  std::optional<std::uint64_t> last_row() override {
    return stored_.rows.empty() ? std::nullopt : std::optional(*stored_.rows.rbegin());
  }
  Space space() override { return {.data_bytes = stored_.rows.size() * kRowBytes}; }
  std::optional<std::uint64_t> version_bytes() const override { return std::nullopt; }
  std::string description() const override { return "a set"; }
  void close() override {}

 private:
  Stored& stored_;
};

class RangeDriver : public ::testing::Test {
 protected:
  RangeResult run(Operation operation) {
    options_.operation = operation;
    const RangeEngineEntry entry{
        .traits = {.name = "memory"},
        .open = [this](const RangeSettings&) { return std::make_unique<MemoryRange>(stored_); }};
    return run_range(options_, entry);
  }

  palimpsest::test::TemporaryDirectory directory_;
  RangeOptions options_{.engine = "memory", .path = directory_.path(), .rows = 100};
  Stored stored_;
};

TEST_F(RangeDriver, Ingests) {
  const RangeResult result = run(Operation::ingest);
  EXPECT_EQ(stored_.rows.size(), 100U);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GT(result.memory_max.resident_bytes, 0U);
  EXPECT_EQ(result.space_before.data_bytes, 0U);
  EXPECT_EQ(result.space_after.data_bytes, 100 * kRowBytes);
  const nlohmann::json json = to_json(options_, result, HostInfo());
  EXPECT_EQ(json["rows"], 100);
  EXPECT_TRUE(json["version_bytes_max"].is_null());
  EXPECT_FALSE(json.contains("reclaim_seconds"));
}

TEST_F(RangeDriver, ErasesTheLowerHalf) {
  static_cast<void>(run(Operation::ingest));
  std::filesystem::create_directory(directory_.path("rows"));
  const RangeResult result = run(Operation::erase);
  EXPECT_EQ(*stored_.rows.begin(), 50U);
  EXPECT_EQ(result.reclaim_seconds, 0.5);
  EXPECT_EQ(result.space_before.data_bytes, 100 * kRowBytes);
  EXPECT_EQ(result.space_reclaimed.data_bytes, 50 * kRowBytes);
  EXPECT_EQ(to_json(options_, result, HostInfo())["rows"], 50);
  EXPECT_THROW(static_cast<void>(run(Operation::erase)), DamagedRecord) << "they are gone";
}

TEST_F(RangeDriver, ErasesNothingOfAnotherNumberOfRows) {
  static_cast<void>(run(Operation::ingest));
  std::filesystem::create_directory(directory_.path("rows"));
  for (const std::uint64_t rows : {98U, 102U}) {
    options_.rows = rows;
    EXPECT_THROW(static_cast<void>(run(Operation::erase)), UsageError);
    EXPECT_EQ(stored_.rows.size(), 100U);
  }
}

TEST_F(RangeDriver, NoticesLostRows) {
  stored_.lost = 1;
  EXPECT_THROW(static_cast<void>(run(Operation::ingest)), DamagedRecord);
}

TEST_F(RangeDriver, RefusesPathsThatDoNotFit) {
  EXPECT_THROW(static_cast<void>(run(Operation::erase)), UsageError);
  std::filesystem::create_directory(directory_.path("rows"));
  EXPECT_THROW(static_cast<void>(run(Operation::ingest)), UsageError);
}

}  // namespace
}  // namespace palimpsest::experiments::bulk
