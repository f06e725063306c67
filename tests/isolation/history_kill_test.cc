// Kills a process that runs random transactions again and again: over all of its lives the history
// satisfies snapshot isolation, and no acknowledged commit is lost.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "palimpsest/table.h"

#include "base/random.h"
#include "experiments/history/items.h"
#include "experiments/history/lives.h"
#include "tests/isolation/judge.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::isolation {
namespace {

using experiments::history::LivesOptions;
using experiments::history::Mode;
using palimpsest::test::TemporaryDirectory;

void live_and_die(Mode mode, std::uint64_t seed) {
  const TemporaryDirectory directory(palimpsest::test::memory_file_system());
  Random random(seed);
  LivesOptions options;
  options.directory = directory.path("database");
  options.json_file = directory.path("history");
  options.crashes = static_cast<std::uint32_t>(3 + random.below(8));
  options.database.memory_bytes = std::uint64_t{6} << 20U;
  options.database.durability = Durability::synchronous;
  options.database.definition_patience = std::chrono::milliseconds(20);
  options.workload = {.mode = mode,
                      .isolation = Isolation::snapshot,
                      .threads = static_cast<std::uint32_t>(3 + random.below(6)),
                      .keys = 5 + random.below(100),
                      .bulk_percent = static_cast<std::uint32_t>(random.below(6)),
                      .seconds = 2,
                      .seed = random()};
  fmt::print("{}\n", run_lives(options));
  const Verdict verdict = check_history(load_history(options.json_file), Level::snapshot);
  EXPECT_TRUE(judge(options.json_file, Level::snapshot, verdict));
}

/// Rows that only scans of the index find: the index has them in another group than their keys do.
void plant_wrong_rows(const LivesOptions& options) {
  constexpr std::int64_t kGroups = 1;
  Database database = Database::open(options.directory, options.database);
  const experiments::history::Items items(database, options.workload.mode);
  const Table table = database.table("item");
  for (std::int64_t group = 0; group < kGroups; ++group) {
    table.insert({0, 1'000'000 + group, group, 0, "12345678", ""}).require();
  }
  database.close();
}

/// A few of many threads find them before the kill; the last life does nothing that would.
TEST(HistoryKillTest, WrongRowEndsAllLives) {
  const TemporaryDirectory directory(palimpsest::test::memory_file_system());
  LivesOptions options;
  options.directory = directory.path("database");
  options.json_file = directory.path("history");
  options.crashes = 4;
  options.database.memory_bytes = std::uint64_t{6} << 20U;
  options.workload = {.threads = 32, .keys = 10, .seconds = 1, .transactions = 0};
  plant_wrong_rows(options);
  try {
    fmt::print("{}\n", run_lives(options));
    ADD_FAILURE() << "the history was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a row that no transaction has written"));
  }
}

TEST(HistoryKillTest, NothingAcknowledgedIsLost) {
  Random random(palimpsest::test::seed());
  for (palimpsest::test::Rounds rounds(2, 4); rounds.next() && !HasFailure();) {
    live_and_die(random.one_in(3) ? Mode::registers : Mode::list_append, random());
  }
}

}  // namespace
}  // namespace palimpsest::isolation
