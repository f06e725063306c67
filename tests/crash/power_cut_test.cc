// Threads work on a database on a simulated disk, with checkpoints running, until the power fails,
// at any moment, for all of them at once; the test compares what was acknowledged with what is
// found, again and again: see kill_workload.h. Unlike kill_test, this loses what was not synced;
// unlike the crash campaign, everything really happens at the same time, so that ThreadSanitizer
// sees it. Rounds go on for the time of PALIMPSEST_TEST_SECONDS.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/crash/kill_workload.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/sim_disk.h"
#include "tests/support/sim_random.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;
using palimpsest::test::SimRandom;
using SteadyClock = std::chrono::steady_clock;

constexpr double kSeconds = 10;
constexpr std::uint64_t kWorkMillisecondsMax = 400;

/// The progress of each thread.
struct Progress {
  std::atomic<std::uint64_t> begun{0};   ///< transactions
  std::atomic<std::uint64_t> synced{0};  ///< the last one that must survive
};

class Lives {
 public:
  explicit Lives(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t i = 0; i < kKillThreads; ++i) {
      threads_.emplace_back(seed, i);
    }
    open();
    btree::BTree& tree = *database_->make_tree("records");
    auto transaction = database_->begin();
    for (std::uint32_t i = 0; i < kKillAccounts; ++i) {
      EXPECT_FALSE(transaction->insert(tree, account_key(i), value_of({})).existed);
    }
    transaction->commit();
  }

  void run_round() {
    ++round_;
    const SimDisk found = work_until_power_goes();
    disk_.power_off();
    database_.reset();
    disk_ = found;
    if (!::testing::Test::HasFailure()) {
      open();
      compare();
    }
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format("{} rounds; {} transactions found, {} losers, {} bytes of log replayed",
                       round_, found_, losers_, replayed_);
  }

 private:
  void open() {
    EngineOptions options = small_options();
    options.background_threads = true;
    options.recovery_threads = 2;
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options);
  }

  /// The disk after the failure. The threads go on a little, so that the failure happens during
  /// work.
  SimDisk work_until_power_goes() {
    std::array<Progress, kKillThreads> progress;
    // the power may fail before a thread has begun
    for (std::size_t i = 0; i < kKillThreads; ++i) {
      progress[i].begun = progress[i].synced = threads_[i].counted();
    }
    std::atomic<bool> over{false};
    std::optional<SimDisk> found;
    btree::BTree& tree = *database_->find_tree("records");
    const std::uint64_t milliseconds = random_.below(kWorkMillisecondsMax);
    const std::uint64_t damage = random_.below(1'000'000);
    palimpsest::test::run_threads(kKillThreads + 1, [&](std::size_t number) {
      if (number < kKillThreads) {
        work(threads_[number], tree, progress[number], over);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      for (std::size_t i = 0; i < kKillThreads; ++i) {
        required_[i] = progress[i].synced.load();
      }
      found = disk_.crash(damage, CrashKeeps::random);
      for (std::size_t i = 0; i < kKillThreads; ++i) {
        begun_[i] = progress[i].begun.load();
      }
      over = true;
    });
    return *found;
  }

  void work(KillThread thread, btree::BTree& tree, Progress& progress,
            const std::atomic<bool>& over) {
    while (!over) {
      const KillPlan plan = thread.plan(round_);
      progress.begun = plan.number;
      const std::string wrong = thread.run(*database_, tree, plan);
      ASSERT_EQ(wrong, "");
      thread.count(plan);
      if (plan.synchronous) {
        progress.synced = plan.number;
      }
    }
  }

  void compare() {
    losers_ += database_->recovery().losers;
    replayed_ += database_->recovery().log_bytes;
    const Records found = content_of(*database_->find_tree("records"));
    for (std::size_t i = 0; i < kKillThreads; ++i) {
      const auto number = threads_[i].marked(found);
      ASSERT_TRUE(number.has_value()) << "thread " << i << " has no marker";
      ASSERT_GE(*number, required_[i]) << "thread " << i << ": acknowledged commits are lost";
      ASSERT_LE(*number, begun_[i]) << "thread " << i;
      for (; threads_[i].counted() < *number; ++found_) {
        threads_[i].count(threads_[i].plan(round_));
      }
    }
    const std::string differs = difference(expected_records(threads_), found);
    EXPECT_TRUE(differs.empty()) << differs.substr(0, 4000);
    EXPECT_TRUE(sound(*database_));
  }

  SimRandom random_;
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  std::vector<KillThread> threads_;  ///< as far as their transactions are found
  std::uint64_t round_ = 0;
  std::array<std::uint64_t, kKillThreads> required_{};
  std::array<std::uint64_t, kKillThreads> begun_{};

  std::uint64_t found_ = 0;
  std::uint64_t losers_ = 0;
  std::uint64_t replayed_ = 0;
};

TEST(PowerCut, EveryAcknowledgedCommitIsThereAfterwards) {
  Lives lives(palimpsest::test::seed());
  const auto end =
      SteadyClock::now() + std::chrono::duration<double>(palimpsest::test::test_seconds(kSeconds));
  do {
    lives.run_round();
  } while (SteadyClock::now() < end && !HasFailure());
  fmt::print("{}\n", lives.summary());
}

}  // namespace
}  // namespace palimpsest::engine::test
