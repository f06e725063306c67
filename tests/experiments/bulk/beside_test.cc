// Short runs of bulk_bench: every reader and writer counts, and scans notice half-done updates.
#include "experiments/bulk/beside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "experiments/bulk/operations.h"
#include "experiments/bulk/table.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::bulk {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{16} << 20U;
constexpr std::uint64_t kRows = 2500;

class Beside : public ::testing::Test {
 protected:
  [[nodiscard]] BesideOptions options(Read read, Update update) const {
    return {.directory = {},
            .memory_bytes = kMemory,
            .rows = kRows,
            .read = read,
            .update = update,
            .readers = 2,
            .seconds = 0.1};
  }
  /// A run that is long enough for each reader and writer to do something, however busy the
  /// machine.
  [[nodiscard]] BesideResult run(BesideOptions options) const {
    for (int attempt = 0;; ++attempt) {
      options.directory = directory_.path("database " + std::to_string(attempt));
      BesideResult result = run_beside(options);
      const bool all_have_worked = std::ranges::all_of(result.phases, [&](const auto& phase) {
        return phase.reads.rows > 0 && (options.once || phase.updates.rows > 0) &&
               (options.other_writers == 0 || phase.other_writes.rows > 0);
      });
      if (all_have_worked || options.seconds > 10) {
        return result;
      }
      options.seconds *= 4;
    }
  }

  palimpsest::test::TemporaryDirectory directory_;
};

TEST_F(Beside, ScansWhileBulksUpdate) {
  const BesideResult result = run(options(Read::scan, Update::bulk));
  ASSERT_EQ(result.phases.size(), 1U);
  EXPECT_EQ(result.phases[0].name, "beside");
  EXPECT_GT(result.phases[0].reads.rows, 0);
  EXPECT_GT(result.phases[0].updates.rows, 0);
  EXPECT_EQ(result.phases[0].other_writes.rows, 0);
  EXPECT_GT(result.memory_max.resident_bytes, 0U);
}

TEST_F(Beside, ScansWhileTransactionsUpdate) {
  const BesideResult result = run(options(Read::scan, Update::transactions));
  EXPECT_GT(result.phases.at(0).reads.rows, 0);
  EXPECT_GT(result.phases.at(0).updates.rows, 0);
}

TEST_F(Beside, UpdatesOnceBetweenTwoPhases) {
  BesideOptions once = options(Read::get, Update::bulk);
  once.once = true;
  once.other_writers = 1;
  const BesideResult result = run(once);
  ASSERT_EQ(result.phases.size(), 3U);
  EXPECT_EQ(result.phases[0].updates.latency_ns.count(), 0U);
  EXPECT_EQ(result.phases[1].updates.latency_ns.count(), 1U);
  EXPECT_EQ(result.phases[1].updates.rows, static_cast<std::int64_t>(kRows));
  EXPECT_EQ(result.phases[2].updates.latency_ns.count(), 0U);
  EXPECT_GT(result.phases[0].other_writes.rows, 0);
  EXPECT_GT(result.phases[2].reads.rows, 0);
}

TEST_F(Beside, AScanNoticesAnUpdateByHalf) {
  Database database = Database::open(directory_.path("half"), {.memory_bytes = kMemory});
  const NumberedTable at{make_table(database, "updated", kRows), kRows};
  at.table.update({5}, {{"round", 1}}).require();
  const std::atomic<bool> stopping{false};
  Tally tally;
  EXPECT_THROW(scan(database, at, kRows, stopping, tally), std::runtime_error);
}

TEST_F(Beside, AScanNoticesAMissingRow) {
  Database database = Database::open(directory_.path("less"), {.memory_bytes = kMemory});
  const NumberedTable at{make_table(database, "updated", kRows), kRows};
  at.table.erase({static_cast<std::int64_t>(kRows - 1)}).require();
  const std::atomic<bool> stopping{false};
  Tally tally;
  EXPECT_THROW(scan(database, at, kRows, stopping, tally), std::runtime_error);
}

TEST_F(Beside, ABulkThatIsStoppedChangesNothing) {
  Database database = Database::open(directory_.path("stopped"), {.memory_bytes = kMemory});
  const NumberedTable at{make_table(database, "updated", kRows), kRows};
  const std::atomic<bool> stopping{true};
  Tally tally;
  EXPECT_FALSE(Updater(database, at, true).update(stopping, tally));
  EXPECT_EQ((*at.table.get({0}))["round"].as_integer(), 0);
}

}  // namespace
}  // namespace palimpsest::experiments::bulk
