// The driver with a small workload on maps in memory, and on stores that misbehave.
#include "experiments/oltp/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/path_lock.h"
#include "experiments/oltp/manifest.h"
#include "tests/experiments/oltp/bank_workload.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::oltp {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBranches = 3;

class OltpDriverTest : public testing::Test {
 protected:
  Options options(std::uint32_t threads = 2) const {
    Options wanted;
    wanted.engine = "memory";
    wanted.path = temporary_.path("run");
    wanted.memory_bytes = 1U << 20U;
    wanted.threads = threads;
    wanted.seconds = 0.2;
    wanted.warmup_seconds = 0.05;
    wanted.sample = std::chrono::milliseconds(20);
    wanted.scale = kBranches;
    wanted.check = true;
    return wanted;
  }

  RunResult run(const Options& wanted) {
    return run_workload(wanted, workload_, test::bank_on(disk_), display_);
  }

  std::string failure(const Options& wanted) {
    try {
      (void)run(wanted);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no failure";
  }

  palimpsest::test::TemporaryDirectory temporary_;
  std::shared_ptr<test::MemoryDisk> disk_ = std::make_shared<test::MemoryDisk>();
  const Workload workload_ = test::bank_workload();
  ProgressDisplay display_{nullptr};
};

TEST_F(OltpDriverTest, LoadsEverythingOnceAndUsesItAgain) {
  const RunResult first = run(options());
  EXPECT_TRUE(first.load.loaded);
  EXPECT_EQ(first.load.rows, kBranches * test::kAccountsOfBranch);
  EXPECT_EQ(disk_->tables.at(0).size(), first.load.rows);
  EXPECT_EQ(disk_->opened, 2) << "once for the load, once for the run";
  EXPECT_EQ(disk_->closed, 2);
  EXPECT_EQ(first.check.value().violations, 0U);
  const RunResult second = run(options());
  EXPECT_FALSE(second.load.loaded);
  EXPECT_EQ(disk_->opened, 3);
  EXPECT_EQ(disk_->closed, 3);
}

TEST_F(OltpDriverTest, OneProcessHasAPath) {
  (void)run(options());
  const int opened = disk_->opened;
  const PathLock other(options().path);
  EXPECT_THAT(failure(options()), HasSubstr("in use by another process"));
  EXPECT_EQ(disk_->opened, opened);
}

TEST_F(OltpDriverTest, WhatALoadHasMadeMustBeThere) {
  (void)run(options());
  EXPECT_TRUE(disk_->last_settings.loaded);
}

TEST_F(OltpDriverTest, WhatFitsInMemoryIsReadOnceBeforeARun) {
  (void)run(options());
  Options wanted = options();
  wanted.seconds = 0.01;
  wanted.warmup_seconds = 0;
  wanted.check = false;
  const std::uint64_t before = disk_->rows_scanned;
  EXPECT_TRUE(run(wanted).read_everything_seconds.has_value());
  EXPECT_EQ(disk_->rows_scanned - before, kBranches * test::kAccountsOfBranch);
  wanted.memory_bytes = 1U << 16U;
  EXPECT_FALSE(run(wanted).read_everything_seconds.has_value());
  EXPECT_EQ(disk_->rows_scanned - before, kBranches * test::kAccountsOfBranch);
}

TEST_F(OltpDriverTest, StoresAreToldWhatTheyAreFor) {
  Options wanted = options(3);
  wanted.durability = Durability::sync;
  (void)run(wanted);
  EXPECT_EQ(disk_->last_settings.memory_bytes, wanted.memory_bytes);
  EXPECT_EQ(disk_->last_settings.tables, workload_.tables);
  EXPECT_EQ(disk_->last_settings.data_bytes, kBranches * test::kAccountsOfBranch * 16);
  EXPECT_EQ(disk_->last_settings.durability, Durability::sync);
  EXPECT_GE(disk_->last_settings.sessions_max, wanted.threads);
  EXPECT_EQ(disk_->last_settings.directory, DataDirectory(wanted.path, workload_.traits).data());
}

/// Records what it is told.
class NotingBench final : public test::BankBench {
 public:
  struct Told {
    std::vector<DataState> states;
    std::mutex mutex;
    std::set<std::uint64_t> seeds;
  };

  NotingBench(std::unique_ptr<test::MemoryStore> store, const Options& options, Told& told)
      : BankBench(std::move(store), options), told_(told) {}
  void prepare_check(DataState state) override { told_.states.push_back(state); }
  std::unique_ptr<Terminal> open_terminal(std::uint32_t number, std::uint64_t seed) override {
    const std::lock_guard lock(told_.mutex);
    told_.seeds.insert(seed);
    return BankBench::open_terminal(number, seed);
  }

 private:
  Told& told_;
};

class OltpDriverTells : public OltpDriverTest {
 protected:
  RunResult run(const Options& wanted) {
    EngineEntry engine = test::bank_on(disk_);
    engine.open = [&](const Options& options, const StoreSettings& settings) {
      return std::make_unique<NotingBench>(std::make_unique<test::MemoryStore>(disk_, settings),
                                           options, told_);
    };
    return run_workload(wanted, workload_, engine, display_);
  }

  NotingBench::Told told_;
};

TEST_F(OltpDriverTells, ChecksWhetherTheDataIsAsLoaded) {
  Options only_load = options();
  only_load.seconds = 0;
  (void)run(only_load);
  (void)run(only_load);
  (void)run(options());
  (void)run(options());
  (void)run(only_load);
  using enum DataState;
  EXPECT_EQ(told_.states, (std::vector{as_loaded, as_loaded, as_loaded, used, used}));
  only_load.check = false;
  (void)run(only_load);
  EXPECT_EQ(told_.states.size(), 5U);
}

TEST_F(OltpDriverTells, EveryTerminalOfEveryRunASeed) {
  EXPECT_EQ(run(options(3)).earlier_runs, 0U);
  EXPECT_EQ(run(options(3)).earlier_runs, 1U);
  EXPECT_EQ(told_.seeds.size(), 6U);
  const std::set<std::uint64_t> before = told_.seeds;
  std::filesystem::remove_all(options().path);
  disk_->tables.clear();
  (void)run(options(3));
  EXPECT_EQ(told_.seeds, before) << "the same for the same run after a load";
}

TEST_F(OltpDriverTest, CountsAddUp) {
  const Measurement measured = run(options()).measured.value();
  const Tally& tally = measured.total.tally;
  EXPECT_GT(tally.commits[0], 0U);
  EXPECT_GT(tally.commits[1], 0U);
  EXPECT_EQ(tally.commits[2], 0U) << "its transactions are rolled back";
  EXPECT_GT(tally.rollbacks[2], 0U);
  EXPECT_EQ(tally.all_rollbacks(), tally.rollbacks[2]);
  EXPECT_EQ(tally.all_conflicts(), 0U);
  for (std::size_t type = 0; type < workload_.types.size(); ++type) {
    EXPECT_EQ(tally.latency_ns[type].count(), tally.commits[type]) << type;
  }
  EXPECT_GE(measured.total.seconds, 0.2);
  EXPECT_LT(measured.total.seconds, 5.0);
  EXPECT_EQ(measured.maxima.version_bytes, 77U);
  EXPECT_FALSE(measured.maxima.orphan_tables.has_value());
  EXPECT_GT(measured.maxima.rss_bytes, 0U);
  EXPECT_FALSE(measured.engine_counts_data);
}

TEST_F(OltpDriverTest, TheSeriesIsTheWhole) {
  Options wanted = options();
  wanted.sample = std::chrono::milliseconds(70);  // of 200: the last interval is a shorter one
  const Measurement measured = run(wanted).measured.value();
  ASSERT_FALSE(measured.series.empty());
  std::uint64_t commits = 0;
  double end = 0;
  for (const SeriesRow& row : measured.series) {
    EXPECT_GT(row.end_seconds, end);
    EXPECT_NEAR(row.end_seconds - end, row.interval.seconds, 1e-9) << "no gap";
    end = row.end_seconds;
    commits += row.interval.tally.all_commits();
    EXPECT_EQ(row.latency.size(), workload_.types.size());
  }
  EXPECT_NEAR(end, measured.total.seconds, 1e-9);
  EXPECT_EQ(commits, measured.total.tally.all_commits());
  EXPECT_GT(commits, 0U);
}

TEST_F(OltpDriverTest, ConflictsAreTriedAgainAndCounted) {
  disk_->conflict_every = 7;
  const RunResult result = run(options());
  const Tally& tally = result.measured.value().total.tally;
  EXPECT_GT(tally.conflicts[static_cast<std::size_t>(ConflictReason::deadlock) - 1], 0U);
  EXPECT_EQ(tally.all_conflicts(),
            tally.conflicts[static_cast<std::size_t>(ConflictReason::deadlock) - 1]);
  EXPECT_GT(tally.commits[0], 0U);
  EXPECT_EQ(result.load.rows, kBranches * test::kAccountsOfBranch) << "no batch twice";
}

TEST_F(OltpDriverTest, AFixedRateIsKept) {
  Options wanted = options();
  wanted.rate = 500;
  wanted.seconds = 0.6;
  const Tally tally = run(wanted).measured.value().total.tally;
  const auto ended = static_cast<double>(tally.all_commits() + tally.all_rollbacks());
  EXPECT_GT(ended, 500 * 0.6 * 0.7);
  EXPECT_LT(ended, 500 * 0.6 * 1.3);
}

TEST_F(OltpDriverTest, ViolationsAreFound) {
  (void)run(options());
  auto account = disk_->tables.at(0).begin();
  account->second[0] = static_cast<char>(account->second[0] + 1);
  const RunResult result = run(options());
  EXPECT_EQ(result.check.value().violations, 1U);
  EXPECT_THAT(result.check->first, testing::ElementsAre("money has come or gone"));
}

TEST_F(OltpDriverTest, NoSecondsMeanNoRun) {
  Options wanted = options();
  wanted.seconds = 0;
  const RunResult result = run(wanted);
  EXPECT_TRUE(result.load.loaded);
  EXPECT_FALSE(result.measured.has_value());
  EXPECT_TRUE(result.check.has_value());
}

TEST_F(OltpDriverTest, AFailingLoadIsReportedAndBegunAnew) {
  disk_->commits_until_failure = 2;
  EXPECT_EQ(failure(options()), "the disk is gone");
  disk_->tables.clear();
  EXPECT_FALSE(DataDirectory(options().path, workload_.traits).read().value().loaded);
  const RunResult result = run(options());
  EXPECT_TRUE(result.load.loaded);
  EXPECT_EQ(result.check.value().violations, 0U);
}

TEST_F(OltpDriverTest, SessionsThatCannotBeOpenedEndTheRun) {
  for (const int session : {0, 1, 2, 3}) {
    disk_ = std::make_shared<test::MemoryDisk>();
    std::filesystem::remove_all(options().path);
    disk_->sessions_until_failure = session;
    EXPECT_EQ(failure(options()), "no more sessions") << session;
  }
}

TEST_F(OltpDriverTest, AFailingTransactionEndsTheRun) {
  (void)run(options());
  disk_->commits_until_failure = 20;
  Options wanted = options();
  wanted.seconds = 600;
  EXPECT_EQ(failure(wanted), "the disk is gone");
  wanted.warmup_seconds = 600;
  disk_->commits_until_failure = 20;
  EXPECT_EQ(failure(wanted), "the disk is gone");
}

TEST_F(OltpDriverTest, DamagedRowsEndTheRun) {
  (void)run(options());
  for (auto& [key, value] : disk_->tables.at(0)) {
    value.pop_back();
  }
  Options wanted = options();
  wanted.seconds = 600;
  EXPECT_THAT(failure(wanted), HasSubstr("damaged: the bytes of account ("));
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
