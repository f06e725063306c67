// The driver against the reference engine, and against engines that misbehave.
#include "experiments/kv_bench/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/kv_bench/manifest.h"
#include "experiments/kv_bench/memory_engine.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kRecords = 2000;
constexpr std::uint32_t kValueBytes = 40;

/// The reference engine on a store that outlives it, like a disk, with injected faults.
class FakeDisk {
 public:
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>(kRecords);
  int opened = 0;
  int closed = 0;
  std::atomic<int> sessions_until_failure{
      -1};  ///< the session that cannot be opened; negative: none

  EngineEntry entry() {
    return {.traits = {.name = "fake", .takes_double_write = false},
            .open = [this](const EngineSettings& settings) { return open(settings); }};
  }

 private:
  class Engine final : public KvEngine {
   public:
    Engine(FakeDisk& disk, std::unique_ptr<KvEngine> inner)
        : disk_(disk), inner_(std::move(inner)) {}
    std::unique_ptr<KvSession> open_session(SessionUse use) override {
      if (disk_.sessions_until_failure.fetch_sub(1) == 0) {
        throw std::runtime_error("no more sessions");
      }
      return inner_->open_session(use);
    }
    void finish_load() override { inner_->finish_load(); }
    EngineStats stats() const override { return inner_->stats(); }
    std::string io_description() const override { return inner_->io_description(); }
    void close() override { ++disk_.closed; }

   private:
    FakeDisk& disk_;
    std::unique_ptr<KvEngine> inner_;
  };

  std::unique_ptr<KvEngine> open(const EngineSettings& settings) {
    ++opened;
    last_settings = settings;
    return std::make_unique<Engine>(*this, open_memory_engine(store));
  }

 public:
  EngineSettings last_settings;
};

class DriverTest : public testing::Test {
 protected:
  Options options(Mode mode, std::uint32_t threads = 2) const {
    Options wanted;
    wanted.engine = "fake";
    wanted.path = temporary_.path("run");
    wanted.memory_bytes = 1U << 20U;
    wanted.page_bytes = 4096;
    wanted.records = kRecords;
    wanted.value_bytes = kValueBytes;
    wanted.threads = threads;
    wanted.warmup_threads = 1;
    wanted.mode = mode;
    wanted.theta = 0.99;
    wanted.seconds = 0.1;
    wanted.warmup_seconds = 0.02;
    wanted.update_percent = 50;
    wanted.latency_every = 3;
    return wanted;
  }

  RunResult run(const Options& wanted) {
    return run_benchmark(wanted, disk_.entry(),
                         [this](std::string_view line) { lines_.emplace_back(line); });
  }

  std::string failure(const Options& wanted) {
    try {
      (void)run(wanted);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no failure";
  }

  DataState state() const { return DataDirectory(temporary_.path("run")).read()->state; }

  std::string& stored(std::uint64_t record) {
    const RecordKey key(record);
    auto& shard = disk_.store->shard(disk_.store->shard_of(key.view()));
    return shard.records.find(key.view())->second;
  }

  test::TemporaryDirectory temporary_;
  FakeDisk disk_;
  std::vector<std::string> lines_;
};

TEST_F(DriverTest, LoadsEveryRecordOnceInAnyOrder) {
  for (const LoadOrder order : {LoadOrder::ascending, LoadOrder::random}) {
    Options wanted = options(Mode::load, 3);
    wanted.load_order = order;
    wanted.reload = true;
    disk_.store = std::make_shared<MemoryStore>(kRecords);
    const RunResult result = run(wanted);
    EXPECT_EQ(result.load.records, kRecords);
    EXPECT_EQ(disk_.opened, disk_.closed);
    EXPECT_EQ(state(), DataState::closed);
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      ASSERT_TRUE(has_stamp(record, stored(record).data(), stored(record).size()));
      ASSERT_EQ(stored(record).size(), kValueBytes);
    }
  }
}

TEST_F(DriverTest, LoadsThenLooksUpThenUsesTheDataAgain) {
  const RunResult first = run(options(Mode::lookup));
  EXPECT_TRUE(first.load.loaded);
  EXPECT_GT(first.measured.end.ops, 0U);
  EXPECT_GE(first.measured.end.seconds, 0.1);
  EXPECT_LT(first.measured.end.seconds, 5.0);
  const RunResult second = run(options(Mode::lookup));
  EXPECT_FALSE(second.load.loaded);
  EXPECT_GT(second.measured.end.ops, 0U);
  EXPECT_EQ(state(), DataState::closed);
}

TEST_F(DriverTest, TimesEveryNthOperation) {
  const RunResult result = run(options(Mode::lookup, 1));
  const std::uint64_t timed = result.measured.latency_ns.count();
  EXPECT_NEAR(static_cast<double>(timed), static_cast<double>(result.measured.end.ops) / 3.0,
              static_cast<double>(timed) / 10 + 2);
  EXPECT_GE(result.measured.latency_ns.max(), result.measured.latency_ns.quantile(0.5));
}

// The counters in the values are the updates that happened, warm-up included.
TEST_F(DriverTest, UpdatesChangeTheRecords) {
  (void)run(options(Mode::load));
  for (const Mode mode : {Mode::update, Mode::mixed}) {
    Options wanted = options(mode, 3);
    wanted.warmup_seconds = 0;
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      before += update_count(stored(record).data());
    }
    const std::uint64_t ops = run(wanted).measured.end.ops;
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      after += update_count(stored(record).data());
    }
    const auto updates = static_cast<double>(after - before);
    // Operations that ended after the measured interval are in the data and not in the result.
    const double expected = static_cast<double>(ops) * (mode == Mode::update ? 1.0 : 0.5);
    EXPECT_GE(updates, expected * 0.9);
    EXPECT_LE(updates, expected * 1.5 + 100);
  }
}

TEST_F(DriverTest, ZipfPrefersFewRecordsAndUniformNone) {
  (void)run(options(Mode::load));
  for (const Distribution distribution : {Distribution::uniform, Distribution::zipf}) {
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      fill_value(record, stored(record));
    }
    Options wanted = options(Mode::update);
    wanted.distribution = distribution;
    (void)run(wanted);
    std::uint64_t total = 0;
    std::uint64_t most = 0;
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      const std::uint64_t count = update_count(stored(record).data());
      total += count;
      most = std::max(most, count);
    }
    const double share = static_cast<double>(most) / static_cast<double>(total);
    if (distribution == Distribution::zipf) {
      EXPECT_NEAR(share, 0.12, 0.03);  // 1 / sum of r^-0.99 over 2000 ranks
    } else {
      EXPECT_LT(share, 0.02);
    }
  }
}

TEST_F(DriverTest, ScansCountRecords) {
  (void)run(options(Mode::load));
  const RunResult whole = run(options(Mode::scan, 3));
  EXPECT_GT(whole.measured.end.ops, kRecords);
  Options ranges = options(Mode::scan);
  ranges.scan_length = 10;
  EXPECT_GT(run(ranges).measured.end.ops, 10U);
}

TEST_F(DriverTest, MoreThreadsThanRecordsAreFine) {
  Options wanted = options(Mode::scan, 7);
  wanted.records = 3;
  disk_.store = std::make_shared<MemoryStore>(3);
  EXPECT_GT(run(wanted).measured.end.ops, 0U);
}

TEST_F(DriverTest, SamplesATimeSeries) {
  Options wanted = options(Mode::lookup);
  wanted.seconds = 0.3;
  wanted.sample_ms = 50;
  const RunResult result = run(wanted);
  EXPECT_GE(result.measured.series.size(), 2U);
  EXPECT_LE(result.measured.series.size(), 6U);
  for (std::size_t i = 1; i < result.measured.series.size(); ++i) {
    EXPECT_GE(result.measured.series[i].ops, result.measured.series[i - 1].ops);
    EXPECT_GT(result.measured.series[i].seconds, result.measured.series[i - 1].seconds);
  }
  EXPECT_GE(result.resident_bytes_max, result.resident_bytes_before_open);
}

TEST_F(DriverTest, ADamagedValueEndsTheRunAndTheDataIsLoadedAgain) {
  (void)run(options(Mode::load));
  for (const Mode mode : {Mode::lookup, Mode::update, Mode::mixed, Mode::scan}) {
    for (std::uint64_t record = 0; record < kRecords; ++record) {
      stored(record)[0] = static_cast<char>(stored(record)[0] ^ 1);
    }
    EXPECT_THAT(failure(options(mode)), HasSubstr("loaded")) << name_of(mode);
    EXPECT_EQ(state(), DataState::open) << "the run did not close the data";
    const RunResult again = run(options(Mode::lookup));
    EXPECT_TRUE(again.load.loaded);
  }
}

TEST_F(DriverTest, AMissingRecordEndsTheRun) {
  (void)run(options(Mode::load));
  disk_.store = std::make_shared<MemoryStore>(kRecords);
  Options wanted = options(Mode::lookup);
  EXPECT_THAT(failure(wanted), HasSubstr("ended at record"));  // found by the prefilling scan
  wanted.memory_bytes = 4096;                                  // not prefilled
  DataDirectory(wanted.path).set_state(DataState::closed);
  EXPECT_THAT(failure(wanted), HasSubstr("missing"));
}

TEST_F(DriverTest, ASessionThatCannotOpenEndsTheRun) {
  (void)run(options(Mode::load));
  disk_.sessions_until_failure = 1;
  EXPECT_THAT(failure(options(Mode::lookup, 4)), HasSubstr("no more sessions"));
}

TEST_F(DriverTest, AnInterruptedLoadIsRecognised) {
  disk_.sessions_until_failure = 0;
  EXPECT_THAT(failure(options(Mode::load)), HasSubstr("no more sessions"));
  EXPECT_EQ(state(), DataState::loading);
  (void)run(options(Mode::lookup));
  EXPECT_THAT(lines_, testing::Contains(HasSubstr("interrupted")));
  EXPECT_EQ(state(), DataState::closed);
}

TEST_F(DriverTest, TellsTheEngineItsScale) {
  Options wanted = options(Mode::lookup, 3);
  wanted.warmup_threads = 5;
  (void)run(wanted);
  EXPECT_EQ(disk_.last_settings.sessions_max, 5U);
  EXPECT_EQ(disk_.last_settings.memory_bytes, 1U << 20U);
  EXPECT_TRUE(disk_.last_settings.fits_in_memory);
  EXPECT_EQ(disk_.last_settings.directory, wanted.path / "data");
}

}  // namespace
}  // namespace palimpsest::experiments
