// TATP as the driver runs it, on maps in memory.
#include "experiments/tatp/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "experiments/oltp/driver.h"
#include "tests/experiments/oltp/counting_sink.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::tatp {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeed = 6;
/// Three groups of parts, the last of which is not full.
constexpr Number kSubscribers = 2 * kSubscribersOfPart + 5'000;

TEST(TatpBench, PartsAreTheWholePopulation) {
  const Population population(kSeed);
  const oltp::Scale scale = workload().scale_of(kSubscribers);
  EXPECT_EQ(scale.load_parts, 3 * kTables);
  oltp::test::CountingSink parts;
  for (std::uint32_t part = 0; part < scale.load_parts; ++part) {
    load_part(population, kSubscribers, part, parts);
  }
  oltp::test::CountingSink whole;
  population.load(1, kSubscribers, whole);
  oltp::test::expect_same_rows(parts, whole);
  EXPECT_EQ(parts.tables.size(), workload().tables.size());
  oltp::test::expect_near(parts.rows(), scale.rows);
  oltp::test::expect_near(parts.bytes, scale.data_bytes);
}

TEST(TatpBench, OneSubscriberIsOneGroupOfParts) {
  EXPECT_EQ(workload().scale_of(1).load_parts, kTables);
  EXPECT_EQ(workload().scale_of(kSubscribersOfPart).load_parts, kTables);
  EXPECT_EQ(workload().scale_of(kSubscribersOfPart + 1).load_parts, 2 * kTables);
}

class TatpBenchTest : public testing::Test {
 protected:
  oltp::Options options(double seconds, Choice choice = Choice::uniform) const {
    oltp::Options wanted;
    wanted.engine = "memory";
    wanted.path = temporary_.path("run");
    wanted.memory_bytes = 1U << 30U;
    wanted.threads = 2;
    wanted.seconds = seconds;
    wanted.sample = std::chrono::milliseconds(100);
    wanted.scale = 5'000;
    wanted.seed = kSeed;
    wanted.check = true;
    wanted.of_workload = {{kKeysFlag, std::string(name_of(choice))}};
    return wanted;
  }

  oltp::EngineEntry engine() const {
    return oltp::table_bench_on<Tatp>(oltp::test::memory_store(disk_));
  }

  oltp::RunResult run(double seconds) {
    return oltp::run_workload(options(seconds), workload(), engine(), display_);
  }

  /// Opens what an earlier run has loaded.
  std::unique_ptr<oltp::Bench> open(Choice choice = Choice::uniform) const {
    StoreSettings settings;
    settings.tables = workload().tables;
    return engine().open(options(0, choice), settings);
  }

  template <class Key>
  oltp::test::MemoryDisk::Table& table() {
    return disk_->tables.at(index_of(oltp::kTableOf<Key>));
  }

  /// The number of subscribers with another location after so many transactions of that choice.
  std::size_t moved_by(Choice choice, int transactions) {
    const auto before = table<SubscriberKey>();
    const auto bench = open(choice);
    const auto terminal = bench->open_terminal(0, kSeed);
    for (int i = 0; i < transactions; ++i) {
      (void)terminal->choose();
      (void)terminal->run();
    }
    std::size_t moved = 0;
    for (const auto& [key, value] : table<SubscriberKey>()) {
      moved += value.substr(0, sizeof(Location)) != before.at(key).substr(0, sizeof(Location));
    }
    return moved;
  }

  palimpsest::test::TemporaryDirectory temporary_;
  std::shared_ptr<oltp::test::MemoryDisk> disk_ = std::make_shared<oltp::test::MemoryDisk>();
  ProgressDisplay display_{nullptr};
};

TEST_F(TatpBenchTest, RunsTheMixAndStaysConsistent) {
  disk_->conflict_every = 1'000;
  const oltp::RunResult result = run(0.5);
  disk_->conflict_every = 0;
  const oltp::Tally& tally = result.measured.value().total.tally;
  const auto ended = static_cast<double>(tally.all_commits() + tally.all_rollbacks());
  for (std::size_t type = 0; type < kTransactionTypes; ++type) {
    EXPECT_NEAR(static_cast<double>(tally.commits[type] + tally.rollbacks[type]) / ended,
                kShares[type] / 100.0, 0.02)
        << workload().types[type];
    EXPECT_GT(tally.commits[type], 0U) << workload().types[type];
  }
  EXPECT_GT(tally.all_conflicts(), 0U);
  EXPECT_EQ(result.check.value().violations, 0U) << result.check->first.front();
}

TEST_F(TatpBenchTest, OnlyChangesOfRowsThatAreNotThereAreRolledBack) {
  const oltp::Tally tally = run(0.5).measured.value().total.tally;
  for (const TransactionType type :
       {TransactionType::get_subscriber_data, TransactionType::get_new_destination,
        TransactionType::get_access_data, TransactionType::update_location}) {
    EXPECT_EQ(tally.rollbacks[static_cast<std::size_t>(type)], 0U) << name_of(type);
  }
  const auto share = [&](TransactionType type) {
    const auto at = static_cast<std::size_t>(type);
    return static_cast<double>(tally.commits[at]) /
           static_cast<double>(tally.commits[at] + tally.rollbacks[at]);
  };
  EXPECT_NEAR(share(TransactionType::update_subscriber_data), 0.625, 0.08);
  // Insertions and deletions change what later ones find: checks only that some succeed.
  EXPECT_NEAR(share(TransactionType::insert_call_forwarding), 0.31, 0.12);
  EXPECT_NEAR(share(TransactionType::delete_call_forwarding), 0.31, 0.12);
}

TEST_F(TatpBenchTest, StaysConsistentFromRunToRun) {
  (void)run(0.1);
  const auto before = table<CallForwardingKey>();
  const oltp::RunResult result = run(0.2);
  EXPECT_FALSE(result.load.loaded);
  EXPECT_NE(table<CallForwardingKey>(), before);
  EXPECT_EQ(result.check.value().violations, 0U) << result.check->first.front();
  table<CallForwardingKey>().erase(table<CallForwardingKey>().begin());
  EXPECT_EQ(run(0.2).check.value().violations, 0U) << "rows are counted before the run";
}

TEST_F(TatpBenchTest, ARunDoesNotRepeatTheOneBefore) {
  (void)run(0.2);
  const oltp::Tally tally = run(0.2).measured.value().total.tally;
  const auto at = static_cast<std::size_t>(TransactionType::insert_call_forwarding);
  EXPECT_GT(tally.commits[at], tally.rollbacks[at] / 10) << "or all of them would be there already";
}

TEST_F(TatpBenchTest, NoticesAnInconsistency) {
  (void)run(0);
  std::string& row = table<SubscriberKey>().begin()->second;
  row[sizeof(Location)] = static_cast<char>(row[sizeof(Location)] + 1);  // MSC_LOCATION
  const oltp::RunResult result = run(0);
  EXPECT_EQ(result.check.value().violations, 1U);
  EXPECT_THAT(result.check->first.front(),
              HasSubstr("condition 1: subscriber (1) has values that no transaction wrote"));
}

TEST_F(TatpBenchTest, NoticesThatAnEntryOfTheIndexIsGone) {
  (void)run(0);
  table<SubscriberNumberKey>().erase(std::prev(table<SubscriberNumberKey>().end()));
  const oltp::RunResult result = run(0);
  EXPECT_EQ(result.check.value().violations, 1U);
  EXPECT_THAT(result.check->first.front(),
              HasSubstr("subscriber_number (000000000005000, 5000) is missing"));
}

TEST_F(TatpBenchTest, NoticesCallForwardingsThatNoTransactionHasRemoved) {
  (void)run(0);
  for (const oltp::DataState state : {oltp::DataState::as_loaded, oltp::DataState::used}) {
    const auto bench = open();
    bench->prepare_check(state);
    EXPECT_EQ(bench->check().violations, 0U);
    const auto row = *table<CallForwardingKey>().begin();
    table<CallForwardingKey>().erase(row.first);
    const oltp::CheckResult result = bench->check();
    EXPECT_EQ(result.violations, 1U);
    EXPECT_THAT(result.first.front(), HasSubstr("condition 5: call_forwarding has"));
    table<CallForwardingKey>().insert(row);
  }
}

TEST_F(TatpBenchTest, TheFlagSaysHowSubscribersAreChosen) {
  (void)run(0);
  const std::size_t uniform = moved_by(Choice::uniform, 20'000);
  const std::size_t non_uniform = moved_by(Choice::non_uniform, 20'000);
  EXPECT_NEAR(static_cast<double>(uniform), 2'140, 150) << "2,800 draws of 5,000";
  EXPECT_LT(non_uniform, uniform * 9 / 10) << "some are drawn again and again";
}

}  // namespace
}  // namespace palimpsest::experiments::tatp
