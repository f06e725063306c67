// The queue as the driver runs it, on maps in memory; its two transactions, and its check.
#include "experiments/queue/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "experiments/common/record_key.h"
#include "experiments/oltp/driver.h"
#include "tests/experiments/oltp/counting_sink.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::queue {
namespace {

using testing::ElementsAre;

/// Two parts, the last of which is not full.
constexpr std::uint64_t kJobs = kJobsOfPart + 5;

class QueueBenchTest : public testing::Test {
 protected:
  oltp::Options options(double seconds) const {
    oltp::Options wanted;
    wanted.engine = "memory";
    wanted.path = temporary_.path("run");
    wanted.memory_bytes = 1U << 30U;
    wanted.threads = 2;
    wanted.seconds = seconds;
    wanted.sample = std::chrono::milliseconds(50);
    wanted.scale = 100;
    wanted.check = true;
    return wanted;
  }
  oltp::EngineEntry engine() const {
    return oltp::table_bench_on<Queue>(oltp::test::memory_store(disk_));
  }
  oltp::RunResult run(double seconds) {
    return oltp::run_workload(options(seconds), workload(), engine(), display_);
  }
  /// Opens what an earlier run has loaded.
  std::unique_ptr<oltp::Bench> open() const {
    StoreSettings settings;
    settings.tables = workload().tables;
    return engine().open(options(0), settings);
  }

  palimpsest::test::TemporaryDirectory temporary_;
  std::shared_ptr<oltp::test::MemoryDisk> disk_ = std::make_shared<oltp::test::MemoryDisk>();
  ProgressDisplay display_{nullptr};
};

TEST(QueueBench, PartsAreAllJobs) {
  const oltp::Scale scale = workload().scale_of(kJobs);
  EXPECT_EQ(scale.load_parts, 2U);
  oltp::Options options;
  options.scale = kJobs;
  const Queue queue(options);
  oltp::test::CountingSink sink;
  for (std::uint32_t part = 0; part < scale.load_parts; ++part) {
    queue.load_part(part, sink);
  }
  EXPECT_EQ(sink.rows(), kJobs);
  EXPECT_EQ(sink.bytes, scale.data_bytes);
}

TEST(QueueBench, PutsAndTakesByTurnsWithKeysThatAscend) {
  Traffic traffic;
  Queue::Transactions transactions(3, traffic);
  EXPECT_EQ(transactions.choose(), static_cast<std::size_t>(TransactionType::put));
  EXPECT_EQ(transactions.choose(), static_cast<std::size_t>(TransactionType::take));
  EXPECT_EQ(transactions.choose(), static_cast<std::size_t>(TransactionType::put));
}

TEST(QueueBench, JobsAreCounted) {
  EXPECT_EQ(judge(5, 0, 5).violations, 0U);
  EXPECT_THAT(judge(5, 0, 6).first, ElementsAre("5 jobs wait, not 6"));
  EXPECT_THAT(judge(5, 2, 5).first, ElementsAre("2 jobs differ from those that were put"));
  EXPECT_EQ(judge(5, 2, 6).violations, 2U);
}

TEST_F(QueueBenchTest, AsManyJobsWaitAfterwardsAsWerePutAndNotTaken) {
  for (const std::uint64_t earlier_runs : {0U, 1U}) {
    const oltp::RunResult result = run(0.2);
    EXPECT_EQ(result.earlier_runs, earlier_runs);
    EXPECT_THAT(result.check.value().first, ElementsAre());
    const oltp::Tally& tally = result.measured.value().total.tally;
    EXPECT_GT(tally.commits[0], 0U);
    EXPECT_GT(tally.commits[1], 0U);
    EXPECT_EQ(tally.all_rollbacks(), 0U);
  }
  EXPECT_GE(disk_->tables.at(0).size(), 100U);
  EXPECT_LE(disk_->tables.at(0).size(), 104U) << "a thread of each run may end between its turns";
}

TEST_F(QueueBenchTest, TakesTheOldestAndNothingFromAnEmptyQueue) {
  (void)run(0);
  const std::string oldest = disk_->tables.at(0).begin()->first;
  const auto bench = open();
  const auto terminal = bench->open_terminal(0, 1);
  EXPECT_EQ(terminal->choose(), 0U);
  EXPECT_EQ(terminal->run(), Outcome::committed);
  EXPECT_EQ(disk_->tables.at(0).size(), 101U);
  EXPECT_EQ(terminal->choose(), 1U);
  EXPECT_EQ(terminal->run(), Outcome::committed);
  EXPECT_FALSE(disk_->tables.at(0).contains(oldest));
  disk_->tables.at(0).clear();
  EXPECT_EQ(terminal->run(), Outcome::rolled_back);
}

TEST_F(QueueBenchTest, DamageIsNoticed) {
  (void)run(0);
  disk_->tables.at(0).begin()->second[0] ^= 1;
  EXPECT_THAT(run(0).check.value().first, ElementsAre("1 jobs differ from those that were put"));
  const auto bench = open();
  const auto terminal = bench->open_terminal(0, 1);
  (void)terminal->choose();
  (void)terminal->choose();
  EXPECT_THROW((void)terminal->run(), DamagedRecord);
  disk_->tables.at(0).erase(disk_->tables.at(0).begin());
  EXPECT_THAT(run(0).check.value().first, ElementsAre("99 jobs wait, not 100"));
}

}  // namespace
}  // namespace palimpsest::experiments::queue
