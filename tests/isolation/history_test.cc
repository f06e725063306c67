// The guarantees of each isolation level, on random transactions: more threads than cores, memory
// for a few pages, and a checker that is independent of the engine.
//
// Databases follow each other, each with other options, for the time of PALIMPSEST_TEST_SECONDS,
// and until there were PALIMPSEST_HISTORY_TRANSACTIONS, if that is set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#include "palimpsest/database.h"

#include "base/random.h"
#include "experiments/history/lives.h"
#include "tests/isolation/judge.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::isolation {
namespace {

using experiments::history::LivesOptions;
using experiments::history::Mode;
using experiments::history::Recorder;
using experiments::history::Tally;
using palimpsest::test::TemporaryDirectory;
using SteadyClock = std::chrono::steady_clock;

/// So many transactions without isolation show that there is none.
constexpr std::uint64_t kEnough = 20'000;
constexpr double kSecondsOfRound = 1;

struct Case {
  const char* name;
  Isolation isolation;
  Mode mode;
  double seconds;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

Level level_of(Isolation isolation) {
  switch (isolation) {
    case Isolation::none: return Level::none;
    case Isolation::read_committed: return Level::read_committed;
    case Isolation::serializable: return Level::serializable;
    default: return Level::snapshot;
  }
}

LivesOptions options_of(const Case& of, Random& random) {
  LivesOptions options;
  options.database.memory_bytes = (std::uint64_t{5} << 20U) + random.below(3U << 20U);
  options.database.version_bytes_max =
      random.one_in(2) ? 0 : (std::uint64_t{256} << 10U) + random.below(256U << 10U);
  options.database.durability =
      random.one_in(3) ? Durability::synchronous : Durability::asynchronous;
  // A transaction that blocks a bulk stays long, or ends at once.
  options.database.definition_patience = std::chrono::milliseconds(20);
  options.workload = {
      .mode = of.mode,
      .isolation = of.isolation,
      .threads = static_cast<std::uint32_t>(5 + random.below(8)),
      .keys = 5 + random.below(100),
      .writes_max = static_cast<std::uint32_t>(2 + random.below(12)),
      .bulk_percent = random.one_in(3) ? 0 : static_cast<std::uint32_t>(1 + random.below(5)),
      .seconds = std::min(kSecondsOfRound, palimpsest::test::test_seconds(of.seconds)),
      .seed = random()};
  return options;
}

std::uint64_t transactions_wanted() {
  const char* given = std::getenv("PALIMPSEST_HISTORY_TRANSACTIONS");
  return given == nullptr ? 0 : std::strtoull(given, nullptr, 10);
}

class HistoryTest : public ::testing::TestWithParam<Case> {
 protected:
  void run_round(Random& random) {
    const TemporaryDirectory directory(palimpsest::test::memory_file_system());
    LivesOptions options = options_of(GetParam(), random);
    options.directory = directory.path("database");
    options.json_file = directory.path("history");
    {
      Recorder recorder(options.json_file);
      const Tally tally = live(options, recorder, {});
      total_.add(tally);
      EXPECT_TRUE(tally.wrong.empty()) << tally.wrong.front();
    }
    const Level level = level_of(GetParam().isolation);
    const Verdict verdict = check_history(load_history(options.json_file), level);
    EXPECT_TRUE(judge(options.json_file, level, verdict));
    has_bulks_ = has_bulks_ || options.workload.bulk_percent != 0;
    anomalies_ += verdict.findings.count_forbidden(Level::snapshot);
  }

  Tally total_;
  bool has_bulks_ = false;
  std::uint64_t anomalies_ = 0;  ///< that snapshot isolation forbids
};

TEST_P(HistoryTest, ShowsNothingThatIsForbidden) {
  Random random(palimpsest::test::seed());
  const auto end = SteadyClock::now() + std::chrono::duration<double>(
                                            palimpsest::test::test_seconds(GetParam().seconds));
  do {
    run_round(random);
  } while (!HasFailure() && (SteadyClock::now() < end || total_.total() < transactions_wanted()));
  fmt::print("{}; {} anomalies that snapshots do not have\n", total_.text(), anomalies_);
  EXPECT_TRUE(!has_bulks_ || total_.ok < kEnough || total_.bulks != 0);
  EXPECT_TRUE(GetParam().isolation != Isolation::none || total_.ok < kEnough || anomalies_ != 0);
}

INSTANTIATE_TEST_SUITE_P(
    Levels, HistoryTest,
    ::testing::Values(Case{"ListsNone", Isolation::none, Mode::list_append, 1},
                      Case{"ListsReadCommitted", Isolation::read_committed, Mode::list_append, 3},
                      Case{"ListsSnapshot", Isolation::snapshot, Mode::list_append, 8},
                      Case{"ListsSerializable", Isolation::serializable, Mode::list_append, 6},
                      Case{"RegistersReadCommitted", Isolation::read_committed, Mode::registers, 2},
                      Case{"RegistersSnapshot", Isolation::snapshot, Mode::registers, 3},
                      Case{"RegistersSerializable", Isolation::serializable, Mode::registers, 3}),
    name_of);

}  // namespace
}  // namespace palimpsest::isolation
