// Short runs of scan_bench: every kind of scan as often as requested, with the expected result.
#include "experiments/bulk/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::bulk {
namespace {

class Scans : public ::testing::Test {
 protected:
  [[nodiscard]] ScanOptions options() const {
    return {.directory = directory_.path("database"),
            .memory_bytes = std::uint64_t{16} << 20U,
            .rows = 5001,
            .changed_one_in = 100,
            .rounds = 3};
  }

  palimpsest::test::TemporaryDirectory directory_;
};

TEST_F(Scans, EachKindOnceARound) {
  const ScanResult result = run_scans(options());
  for (const auto& seconds : result.seconds) {
    EXPECT_EQ(seconds.size(), 3U);
    EXPECT_THAT(seconds, testing::Each(testing::Gt(0.0)));
  }
  EXPECT_GE(result.entries_max, 51U) << "one row in a hundred, and the first";
  EXPECT_GT(result.version_bytes_max, 0U);
}

TEST_F(Scans, AllRowsMayBeChanged) {
  ScanOptions all = options();
  all.changed_one_in = 1;
  EXPECT_GE(run_scans(all).entries_max, all.rows);
}

TEST_F(Scans, FewRowsAreScannedToo) {
  for (const std::uint64_t rows : {1U, 200U, 1000U}) {
    ScanOptions few = options();
    few.directory = directory_.path(std::to_string(rows));
    few.rows = rows;
    EXPECT_EQ(run_scans(few).seconds.front().size(), 3U) << "and not 60 s of waiting";
  }
}

TEST_F(Scans, TheResultNamesTheKinds) {
  const ScanOptions wanted = options();
  const ScanResult result = run_scans(wanted);
  const nlohmann::json object = to_json(wanted, result, {});
  EXPECT_EQ(object.at("records"), 5001U);
  std::set<std::string> kinds;
  for (const auto& [kind, seconds] : object.at("seconds").items()) {
    kinds.insert(kind);
    EXPECT_EQ(seconds.size(), 3U) << kind;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"none", "snapshot", "beside_versions", "old_reader"}));
  EXPECT_THAT(summary(wanted, result), testing::HasSubstr("ns a row"));
}

}  // namespace
}  // namespace palimpsest::experiments::bulk
