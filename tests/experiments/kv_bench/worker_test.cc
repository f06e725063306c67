#include "experiments/kv_bench/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace palimpsest::experiments {
namespace {

/// Answers like a full store and records the requested keys; stops the worker after some.
class RecordingSession final : public KvSession {
 public:
  static constexpr std::size_t kRecordsMax = 200;

  explicit RecordingSession(std::atomic<bool>& stop) : stop_(stop) {}

  void insert(ByteView key, ByteView /*value*/) override { note(key); }
  void finish_load() override {}
  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    note(key);
    fill_value(record_of(key), out);
    return out.size();
  }
  bool update(ByteView key, RecordChange& /*change*/) override {
    note(key);
    ++updates;
    return true;
  }
  void scan(ByteView from, ScanSink& /*sink*/) override { note(from); }

  std::vector<std::uint64_t> asked;
  std::size_t updates = 0;

 private:
  void note(ByteView key) {
    asked.push_back(record_of(key));
    stop_ = asked.size() >= kRecordsMax;
  }

  std::atomic<bool>& stop_;
};

Options options() {
  Options wanted;
  wanted.mode = Mode::lookup;
  wanted.records = 1'000'000;
  wanted.value_bytes = 16;
  wanted.theta = 0.99;
  wanted.seed = 1;
  wanted.latency_every = 1;
  return wanted;
}

struct Recorded {
  std::vector<std::uint64_t> asked;
  std::size_t updates = 0;
};

Recorded run(const Options& wanted, std::uint32_t phase, std::uint32_t worker) {
  const RecordChooser chooser(wanted);
  std::atomic<bool> stop{false};
  RecordingSession session(stop);
  WorkerState state;
  operate(session,
          {.options = wanted, .chooser = chooser, .stop = stop, .phase = phase, .worker = worker},
          state);
  EXPECT_EQ(state.ops.load(), session.asked.size());
  return {.asked = session.asked, .updates = session.updates};
}

// A run that repeated its warm-up's records would find them all in memory.
TEST(Worker, EveryPhaseWorkerAndSeedDrawsOtherRecords) {
  std::set<std::uint64_t> drawn;
  std::size_t total = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    for (std::uint32_t phase = 0; phase < 3; ++phase) {
      for (std::uint32_t worker = 0; worker < 3; ++worker) {
        Options wanted = options();
        wanted.seed = seed;
        const std::vector<std::uint64_t> asked = run(wanted, phase, worker).asked;
        drawn.insert(asked.begin(), asked.end());
        total += asked.size();
      }
    }
  }
  EXPECT_GT(drawn.size(), total * 99 / 100);
}

TEST(Worker, TheSameSeedDrawsTheSameRecords) {
  EXPECT_EQ(run(options(), 3, 1).asked, run(options(), 3, 1).asked);
}

TEST(Worker, MixesAsAsked) {
  Options wanted = options();
  wanted.mode = Mode::mixed;
  wanted.update_percent = 20;
  EXPECT_NEAR(static_cast<double>(run(wanted, 0, 0).updates), 40, 30);
  wanted.update_percent = 0;
  EXPECT_EQ(run(wanted, 0, 0).updates, 0U);
  wanted.mode = Mode::update;
  EXPECT_EQ(run(wanted, 0, 0).updates, RecordingSession::kRecordsMax);
}

TEST(Worker, RangesCoverAllRecordsOnce) {
  for (const std::uint64_t records : {1U, 2U, 7U, 64U, 1001U}) {
    for (const std::uint32_t workers : {1U, 2U, 3U, 64U}) {
      std::uint64_t next = 0;
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const RecordRange range = range_of(records, worker, workers);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.last - range.first, records / workers + 1);
        next = range.last;
      }
      EXPECT_EQ(next, records);
    }
  }
}

TEST(Worker, ChosenRecordsLeaveRoomForTheScan) {
  Options wanted = options();
  wanted.records = 100;
  const RecordChooser chooser(wanted);
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(chooser.choose(random, 90), 10U);
  }
}

}  // namespace
}  // namespace palimpsest::experiments
