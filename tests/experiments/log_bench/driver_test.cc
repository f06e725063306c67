// The driver against the reference engine, and against engines that lose or damage data.
#include "experiments/log_bench/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/log_bench/memory_engine.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest::experiments {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kRecords = 500;

/// Faults, each once or from some point on.
struct Faults {
  std::atomic<int> updates_until_error{-1};  ///< negative: none
  int sessions_until_error = -1;
  std::function<void(MemoryValues&)> between;  ///< called when the engine is opened again
};

/// The reference engine on a store that outlives it, with injected faults.
class FaultyEngine final : public CommitEngine {
 public:
  FaultyEngine(std::shared_ptr<MemoryValues> store, Faults& faults)
      : inner_(open_memory_engine(std::move(store))), faults_(faults) {}

  void load(std::uint64_t records) override { inner_->load(records); }
  std::unique_ptr<CommitSession> open_session() override {
    const std::lock_guard lock(mutex_);
    if (faults_.sessions_until_error-- == 0) {
      throw std::runtime_error("no more sessions");
    }
    return std::make_unique<Session>(*this, inner_->open_session());
  }
  LogCounts log_counts() const override {
    return {.record_bytes = 1000 + 48 * updates_.load(), .log_bytes = std::nullopt};
  }
  std::string durability_description() const override { return "hope"; }
  void close() override { inner_->close(); }

 private:
  class Session final : public CommitSession {
   public:
    Session(FaultyEngine& engine, std::unique_ptr<CommitSession> inner)
        : engine_(engine), inner_(std::move(inner)) {}
    void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
      if (engine_.faults_.updates_until_error.fetch_sub(1) == 0) {
        throw std::runtime_error("the disk is full");
      }
      ++engine_.updates_;
      inner_->update(record, offset, bytes);
    }
    std::optional<Value> read(std::uint64_t record) override { return inner_->read(record); }

   private:
    FaultyEngine& engine_;
    std::unique_ptr<CommitSession> inner_;
  };

  std::unique_ptr<CommitEngine> inner_;
  Faults& faults_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> updates_{0};
};

class CommitDriverTest : public testing::Test {
 protected:
  CommitOptions options(std::uint32_t threads = 3) const {
    CommitOptions wanted;
    wanted.engine = "faulty";
    wanted.path = temporary_.path("run");
    wanted.threads = threads;
    wanted.records = kRecords;
    wanted.warmup_seconds = 0.02;
    wanted.step = std::chrono::milliseconds(10);
    wanted.steps = 8;
    wanted.flush_every = std::chrono::milliseconds(1);
    wanted.checkpoint_every = std::chrono::milliseconds(1);
    wanted.seed = 5;
    return wanted;
  }

  CommitEngineEntry entry() {
    return {.traits = {.name = "faulty"}, .open = [this](const CommitSettings& settings) {
              last_settings_ = settings;
              if (opened_++ > 0 && faults_.between) {
                faults_.between(*store_);
              }
              return std::make_unique<FaultyEngine>(store_, faults_);
            }};
  }

  CommitRunResult run(const CommitOptions& wanted) {
    return run_commits(wanted, entry(),
                       [this](std::string_view line) { lines_.emplace_back(line); });
  }

  std::string failure(const CommitOptions& wanted) {
    try {
      (void)run(wanted);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no failure";
  }

  const test::TemporaryDirectory temporary_;
  std::shared_ptr<MemoryValues> store_ = std::make_shared<MemoryValues>();
  Faults faults_;
  CommitSettings last_settings_;
  int opened_ = 0;
  std::vector<std::string> lines_;
};

TEST_F(CommitDriverTest, CommitsAreCountedTimedAndFoundAgain) {
  const CommitRunResult result = run(options());
  EXPECT_GT(result.latency_ns.count(), 0U);
  EXPECT_GT(result.commits, result.latency_ns.count());  // the warm-up's too
  ASSERT_EQ(result.series.size(), 8U);
  std::uint64_t commits = 0;
  for (const Timeline::Step& step : result.series) {
    commits += step.commits;
  }
  EXPECT_EQ(commits, result.latency_ns.count());
  EXPECT_EQ(result.log.record_bytes, 48 * result.commits);
  EXPECT_EQ(result.log.log_bytes, std::nullopt);
  EXPECT_EQ(result.durability_description, "hope");
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(last_settings_.sessions_max, 3U);
  EXPECT_THAT(lines_, Contains(HasSubstr("all found after reopening")));
}

TEST_F(CommitDriverTest, TheDirectoryIsMadeAndRemoved) {
  (void)run(options());
  EXPECT_EQ(last_settings_.directory, temporary_.path("run"));
  EXPECT_FALSE(std::filesystem::exists(temporary_.path("run")));
}

TEST_F(CommitDriverTest, OtherPeoplesDataIsLeftAlone) {
  std::filesystem::create_directory(temporary_.path("run"));
  std::ofstream(temporary_.path("run/theirs")) << "precious";
  EXPECT_THROW((void)run(options()), UsageError);
  EXPECT_TRUE(std::filesystem::exists(temporary_.path("run/theirs")));
  EXPECT_EQ(opened_, 0);
}

TEST_F(CommitDriverTest, ALostUpdateIsNoticed) {
  faults_.between = [](MemoryValues& store) { store.values[7] = fresh_value(7); };
  EXPECT_THAT(failure(options()), HasSubstr("record 7: all its updates are lost"));
}

TEST_F(CommitDriverTest, AnOlderUpdateIsNoticed) {
  faults_.between = [](MemoryValues& store) {
    const UpdateMark mark = verified_mark(7, store.values[7]);
    const Field field = field_of({.worker = mark.worker, .sequence = mark.sequence - 1});
    std::copy(field.begin(), field.end(), store.values[7].begin() + kFieldOffset);
  };
  EXPECT_THAT(failure(options()), HasSubstr("which was not that worker's last one to it"));
}

TEST_F(CommitDriverTest, AnUpdateThatWasNeverMadeIsNoticed) {
  faults_.between = [](MemoryValues& store) {
    const Field field = field_of({.worker = 9, .sequence = 1});
    std::copy(field.begin(), field.end(), store.values[7].begin() + kFieldOffset);
  };
  EXPECT_THAT(failure(options()), HasSubstr("holds update 1 of worker 9"));
}

TEST_F(CommitDriverTest, DamageBesideTheFieldIsNoticed) {
  faults_.between = [](MemoryValues& store) { store.values[7][0] ^= 1; };
  EXPECT_THAT(failure(options()), HasSubstr("record 7: bytes outside of all updates have changed"));
}

TEST_F(CommitDriverTest, AMissingRecordIsNoticed) {
  faults_.between = [](MemoryValues& store) { store.values.pop_back(); };
  EXPECT_THAT(failure(options()), HasSubstr("record 499: is missing"));
}

TEST_F(CommitDriverTest, AnErrorEndsTheRun) {
  faults_.updates_until_error = 100;
  EXPECT_EQ(failure(options()), "the disk is full");
  EXPECT_FALSE(std::filesystem::exists(temporary_.path("run")));
}

TEST_F(CommitDriverTest, ASessionThatCannotBeOpenedEndsTheRun) {
  faults_.sessions_until_error = 1;
  EXPECT_EQ(failure(options()), "no more sessions");
}

}  // namespace
}  // namespace palimpsest::experiments
