// Kills (SIGKILL) a process that works on a database, again and again, at any moment, and compares
// what it acknowledged with what is found: see kill_workload.h.
//
// The process under test reports each acknowledged commit through a pipe and keeps no state. The
// test knows the expected contents and opens the database itself after each kill; sometimes another
// process opens it before, and is killed during recovery. The operating system survives, so written
// data is found, synced or not: the simulated disk covers lost writes. Rounds go on for the time of
// PALIMPSEST_TEST_SECONDS.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/io/open_device.h"
#include "tests/crash/kill_workload.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/killed_process.h"
#include "tests/support/seed.h"
#include "tests/support/sim_random.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::SimRandom;
using palimpsest::test::TemporaryDirectory;
using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr double kSecondsPerPlace = 5;
constexpr std::uint64_t kWorkMillisecondsMax = 500;
constexpr int kStuckSeconds = 120;

/// A report of the process under test.
struct Report {
  std::uint32_t thread = 0;
  std::uint32_t synchronous = 0;
  std::uint64_t number = 0;
};
using Process = palimpsest::test::KilledProcess<Report>;

EngineOptions options_of(SimRandom random) {
  EngineOptions options = small_options();
  options.background_threads = true;
  options.recovery_threads = 1 + random.below(2);
  options.log_bytes_max = (8 + random.below(40)) * wal::kSegmentBytesMin;
  options.replay_bytes_max = random.below(3) * wal::kSegmentBytesMin;
  options.memory_bytes = (std::uint64_t{3} << 20U) + (random.below(1536) << 10U);
  options.transactions.begin_patience = std::chrono::seconds(kStuckSeconds);
  return options;
}

std::unique_ptr<io::Device> device_of(const std::string& path) {
  return io::open_device(path, {.log = {}});
}

/// Opens the database of a killed process, also if its files stay locked for longer than opening
/// waits, as on a busy machine.
std::unique_ptr<Engine> open_database(io::Device& device, const EngineOptions& options) {
  const auto deadline = SteadyClock::now() + std::chrono::seconds(kStuckSeconds);
  for (;;) {
    try {
      return Engine::open(device, device, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::locked || SteadyClock::now() > deadline) {
        throw;
      }
    }
  }
}

/// The life of the process under test: opens, works for a while, closes.
int work(const std::string& path, const EngineOptions& options, std::vector<KillThread> threads,
         std::uint64_t round, Milliseconds duration, int pipe) {
  const auto device = device_of(path);
  const auto database = open_database(*device, options);
  btree::BTree& tree = *database->find_tree("records");
  const auto end = SteadyClock::now() + duration;
  std::atomic<bool> went_wrong{false};
  const auto body = [&](std::uint32_t number) {
    KillThread& thread = threads[number];
    std::string wrong;
    try {
      while (wrong.empty() && SteadyClock::now() < end) {
        const KillPlan plan = thread.plan(round);
        wrong = thread.run(*database, tree, plan);
        thread.count(plan);
        const Report report{
            .thread = number, .synchronous = plan.synchronous ? 1U : 0U, .number = plan.number};
        if (::write(pipe, &report, sizeof report) != sizeof report) {
          wrong = "the pipe is broken";
        }
      }
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) {
      std::fprintf(stderr, "in the process under test: thread %u: %s\n", number, wrong.c_str());
      went_wrong = true;
    }
  };
  {
    std::vector<std::jthread> running;
    running.reserve(kKillThreads);
    for (std::uint32_t i = 0; i < kKillThreads; ++i) {
      running.emplace_back(body, i);
    }
  }
  database->close();
  return went_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

/// One database and its many lives.
class Lives {
 public:
  Lives(const std::filesystem::path& parent, std::uint64_t seed)
      : random_(seed), directory_(parent) {
    for (std::uint32_t i = 0; i < kKillThreads; ++i) {
      threads_.emplace_back(seed, i);
    }
    const auto device = device_of(directory_.path());
    const auto database = open_database(*device, options_of(random_));
    btree::BTree& tree = *database->make_tree("records");
    auto transaction = database->begin();
    for (std::uint32_t i = 0; i < kKillAccounts; ++i) {
      EXPECT_FALSE(transaction->insert(tree, account_key(i), value_of({})).existed);
    }
    transaction->commit();
    transaction.reset();
    database->close();
  }

  void run_round() {
    ++round_;
    run_and_kill();
    if (random_.chance(30)) {
      recover_and_kill();
    }
    if (!::testing::Test::HasFailure()) {
      look();
    }
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format(
        "{} rounds, {} of them killed ({} while recovering); {} transactions acknowledged, {} "
        "found that were not; {} recoveries, {} losers, {} log bytes replayed",
        round_, killed_, killed_recovering_, acknowledged_, found_beyond_, recoveries_, losers_,
        replayed_);
  }

 private:
  void run_and_kill() {
    const Milliseconds until_kill(random_.below(kWorkMillisecondsMax));
    const bool is_killed = random_.chance(95);
    const bool closes = !is_killed || random_.chance(20);  // and is killed meanwhile
    const Milliseconds duration = closes ? until_kill : std::chrono::seconds(kStuckSeconds);
    std::vector<std::uint64_t> synced(kKillThreads);
    reported_.assign(kKillThreads, 0);
    for (std::uint32_t i = 0; i < kKillThreads; ++i) {
      synced[i] = reported_[i] = threads_[i].counted();
    }
    const auto note = [&](const Report& report) {
      ++acknowledged_;
      reported_[report.thread] = report.number;
      if (report.synchronous != 0) {
        synced[report.thread] = report.number;
      }
    };
    const auto stuck = SteadyClock::now() + std::chrono::seconds(kStuckSeconds);
    Process process([&](int pipe) {
      return work(directory_.path(), options_of(random_), threads_, round_, duration, pipe);
    });
    process.read_until(is_killed ? SteadyClock::now() + until_kill : stuck, note);
    ASSERT_LT(SteadyClock::now(), stuck) << "the process hangs";
    if (is_killed) {
      process.kill();
    }
    process.read_until(stuck, note);
    const int status = process.wait();
    killed_ += status == -SIGKILL ? 1U : 0U;
    ASSERT_TRUE(status == -SIGKILL || status == EXIT_SUCCESS) << "status " << status;
    closed_ = status == EXIT_SUCCESS;
    required_ = closed_ ? reported_ : synced;
  }

  void recover_and_kill() {
    const Milliseconds until_kill(random_.below(60));
    Process process([&](int) {
      const auto device = device_of(directory_.path());
      static_cast<void>(open_database(*device, options_of(random_)));
      return EXIT_SUCCESS;
    });
    process.read_until(SteadyClock::now() + until_kill, [](const Report&) {});
    process.kill();
    const int status = process.wait();
    killed_recovering_ += status == -SIGKILL ? 1U : 0U;
    ASSERT_TRUE(status == -SIGKILL || status == EXIT_SUCCESS) << "status " << status;
    closed_ = closed_ && status == EXIT_SUCCESS;
  }

  /// Opens the database and compares.
  void look() {
    const auto device = device_of(directory_.path());
    const auto database = open_database(*device, options_of(random_));
    const RecoveryOutcome& recovery = database->recovery();
    EXPECT_FALSE(closed_ && recovery.was_needed);
    recoveries_ += recovery.was_needed ? 1U : 0U;
    losers_ += recovery.losers;
    replayed_ += recovery.log_bytes;
    btree::BTree* tree = database->find_tree("records");
    ASSERT_NE(tree, nullptr);
    const Records found = content_of(*tree);
    for (std::uint32_t i = 0; i < kKillThreads; ++i) {
      const auto number = threads_[i].marked(found);
      ASSERT_TRUE(number.has_value()) << "thread " << i << " has no marker";
      ASSERT_GE(*number, required_[i]) << "thread " << i << ": acknowledged commits are lost";
      ASSERT_LE(*number, reported_[i] + (closed_ ? 0 : 1)) << "thread " << i;
      found_beyond_ += *number > reported_[i] ? 1U : 0U;
      while (threads_[i].counted() < *number) {
        threads_[i].count(threads_[i].plan(round_));
      }
    }
    const std::string differs = difference(expected_records(threads_), found);
    EXPECT_TRUE(differs.empty()) << differs.substr(0, 4000);
    EXPECT_TRUE(sound(*database));
    database->close();
  }

  SimRandom random_;
  TemporaryDirectory directory_;
  std::vector<KillThread> threads_;
  std::uint64_t round_ = 0;
  bool closed_ = false;                  ///< the last life ended well
  std::vector<std::uint64_t> required_;  ///< per thread, what must be there
  std::vector<std::uint64_t> reported_;  ///< per thread; one more may be there

  std::uint64_t killed_ = 0;
  std::uint64_t killed_recovering_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t found_beyond_ = 0;
  std::uint64_t recoveries_ = 0;
  std::uint64_t losers_ = 0;
  std::uint64_t replayed_ = 0;
};

void live_and_die(const std::filesystem::path& parent) {
  Lives lives(parent, palimpsest::test::seed());
  const auto end = SteadyClock::now() +
                   std::chrono::duration<double>(palimpsest::test::test_seconds(kSecondsPerPlace));
  while (SteadyClock::now() < end && !::testing::Test::HasFailure()) {
    lives.run_round();
  }
  fmt::print("{}\n", lives.summary());
}

TEST(KillTest, EveryAcknowledgedCommitIsThereAfterwards) {
  live_and_die(std::filesystem::temp_directory_path());
}

// Far faster than disks, so that kills hit more of what happens in memory.
TEST(KillTest, InMemoryFilesToo) {
  live_and_die(palimpsest::test::memory_file_system());
}

}  // namespace
}  // namespace palimpsest::engine::test
