// TPC-C as the driver runs it: a warehouse in full, on maps in memory.
#include "experiments/tpcc/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "experiments/oltp/driver.h"
#include "tests/experiments/oltp/counting_sink.h"
#include "tests/experiments/oltp/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments::tpcc {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeed = 6;

TEST(TpccBench, PartsAreTheWholePopulation) {
  const Population population(kSeed, kLoadedAt);
  const oltp::Scale scale = workload().scale_of(1);
  oltp::test::CountingSink parts;
  for (std::uint32_t part = 0; part < scale.load_parts; ++part) {
    load_part(population, part, parts);
  }
  oltp::test::CountingSink whole;
  population.items(whole);
  population.warehouse(1, whole);
  oltp::test::expect_same_rows(parts, whole);
  EXPECT_EQ(parts.tables.size(), workload().tables.size());
  oltp::test::expect_near(parts.rows(), scale.rows);
  oltp::test::expect_near(parts.bytes, scale.data_bytes);
}

class TpccBenchTest : public testing::Test {
 protected:
  oltp::Options options(double seconds) const {
    oltp::Options wanted;
    wanted.engine = "memory";
    wanted.path = temporary_.path("run");
    wanted.memory_bytes = 1U << 30U;
    wanted.threads = 2;
    wanted.seconds = seconds;
    wanted.sample = std::chrono::milliseconds(100);
    wanted.scale = 1;
    wanted.seed = kSeed;
    wanted.check = true;
    return wanted;
  }

  oltp::RunResult run(double seconds) {
    return oltp::run_workload(options(seconds), workload(),
                              oltp::table_bench_on<Tpcc>(oltp::test::memory_store(disk_)),
                              display_);
  }

  palimpsest::test::TemporaryDirectory temporary_;
  std::shared_ptr<oltp::test::MemoryDisk> disk_ = std::make_shared<oltp::test::MemoryDisk>();
  ProgressDisplay display_{nullptr};
};

TEST_F(TpccBenchTest, RunsTheMixAndStaysConsistent) {
  disk_->conflict_every = 1'000;
  const oltp::RunResult result = run(0.5);
  disk_->conflict_every = 0;
  const oltp::Tally& tally = result.measured.value().total.tally;
  for (std::size_t type = 0; type < kTransactionTypes; ++type) {
    EXPECT_GT(tally.commits[type], 0U) << workload().types[type];
  }
  const auto share = [&](TransactionType type) {
    return static_cast<double>(tally.commits[static_cast<std::size_t>(type)]) /
           static_cast<double>(tally.all_commits());
  };
  EXPECT_NEAR(share(TransactionType::new_order), 0.45, 0.05);
  EXPECT_NEAR(share(TransactionType::payment), 0.43, 0.05);
  EXPECT_GT(tally.all_conflicts(), 0U);
  EXPECT_EQ(result.check.value().violations, 0U) << result.check->first.front();
}

TEST_F(TpccBenchTest, NoticesAnInconsistency) {
  (void)run(0);
  const auto& [key, value] = *disk_->tables.at(index_of(oltp::kTableOf<WarehouseKey>)).begin();
  std::string changed = value;
  changed[0] = static_cast<char>(changed[0] + 1);
  disk_->tables.at(index_of(oltp::kTableOf<WarehouseKey>))[key] = changed;
  const oltp::RunResult result = run(0);
  EXPECT_EQ(result.check.value().violations, 2U);
  EXPECT_THAT(result.check->first.front(), HasSubstr("condition 1, warehouse 1: W_YTD"));
}

}  // namespace
}  // namespace palimpsest::experiments::tpcc
