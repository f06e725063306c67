// Kills (SIGKILL) a process that runs random transactions of the public API in several threads,
// again and again, at any moment. What is found afterwards must equal the models: every row, by key
// and by each index, tables and indexes that come and go, bulks, and the accounts that all threads
// share (killed_plan.h).
//
// The process reports the outcome of each transaction through a pipe, and keeps no state of its
// own. The test opens the database after each kill; sometimes another process opens it before, and
// is killed during recovery. Each thread's marker tells its last surviving transaction: none before
// a synchronous commit that was acknowledged, and at most the one under way after the last reported
// one. Asynchronous commits may be lost, but only a suffix of them.
//
// The operating system survives, so written data is found, synced or not: the simulated disk covers
// lost writes (tests/crash).
//
// Rounds go on for the time of PALIMPSEST_TEST_SECONDS. The seed determines the operations, but not
// the moments of the kills.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "base/io/open_device.h"
#include "base/random.h"
#include "tests/engine/api/killed_plan.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/killed_process.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::test;
using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Threads = std::vector<KilledThread>;

constexpr double kSecondsPerPlace = 5;
constexpr std::uint64_t kWorkMillisecondsMax = 300;
constexpr std::uint64_t kRecoveryMillisecondsMax = 40;
constexpr std::chrono::seconds kStuck(120);

/// The outcome of a transaction.
struct Report {
  std::uint32_t thread = 0;
  KilledOutcome commit_status{};
  bool is_durable = false;
  std::uint64_t number = 0;
};
using Process = KilledProcess<Report>;

Options any_options(Random& random) {
  Options options;
  options.memory_bytes = (6 + random.below(4)) << 20U;
  options.log_bytes_max = std::uint64_t{32} << 20U;
  options.recovery_threads = 1 + random.below(2);
  options.definition_patience = Milliseconds(5 + random.below(50));
  options.use_io_uring = !random.one_in(4);
  return options;
}

/// Retries if the files of a killed process stay locked for longer than opening waits, as on a busy
/// machine.
Database open_database(const std::string& directory, const Options& options) {
  const auto deadline = SteadyClock::now() + kStuck;
  for (;;) {
    try {
      return Database::open(directory, options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::locked || SteadyClock::now() > deadline) {
        throw;
      }
    }
  }
}

/// A thread's work until the end; throws at any wrong result.
void run_thread(Database& database, KilledThread& thread, std::uint64_t life,
                SteadyClock::time_point end, int pipe) {
  for (std::uint64_t number = thread.number() + 1; SteadyClock::now() < end; ++number) {
    const KilledPlan plan = thread.plan(life, number);
    const KilledOutcome commit_status = run_killed(database, plan);
    if (commit_status == KilledOutcome::committed) {
      thread.commit(plan);
    }
    const Report report{.thread = thread.thread(),
                        .commit_status = commit_status,
                        .is_durable = plan.is_synchronous,
                        .number = number};
    if (::write(pipe, &report, sizeof report) != sizeof report) {
      throw std::runtime_error("the pipe is broken");
    }
  }
}

/// One life of the process under test: opens, works for a while, closes. Any error ends it at once,
/// because it would be killed before it could report.
int live(const std::string& directory, const Options& options, Threads threads, std::uint64_t life,
         Milliseconds duration, int pipe) {
  Database database = open_database(directory, options);
  const auto end = SteadyClock::now() + duration;
  {
    std::vector<std::jthread> running;
    running.reserve(threads.size());
    for (KilledThread& thread : threads) {
      running.emplace_back([&] {
        try {
          run_thread(database, thread, life, end, pipe);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "in the process under test: thread %u: %s\n", thread.thread(),
                       error.what());
          ::_exit(EXIT_FAILURE);
        }
      });
    }
  }
  database.close();
  return EXIT_SUCCESS;
}

/// The difference between the cursor's rows and these; empty: they are those rows, each once.
std::string difference(Cursor cursor, const ModelRows& expected) {
  std::set<ModelKey> shown;
  for (; cursor.valid(); cursor.next()) {
    const ModelKey key = key_of(cursor.row());
    const auto row = expected.find(key);
    const bool is_first = shown.insert(key).second;
    if (row == expected.end() || !is_first || row_of(cursor.row()) != row->second) {
      return fmt::format("({}, {}) is {}", key.part, key.name,
                         row == expected.end() ? "not to be there"
                         : is_first            ? "another row"
                                               : "shown twice");
    }
  }
  for (const auto& [key, row] : expected) {
    if (!shown.contains(key)) {
      return fmt::format("({}, {}) is missing", key.part, key.name);
    }
  }
  return "";
}

/// The rows of all threads together, by table.
std::map<std::string, ModelRows> rows_of_all(const Threads& threads) {
  std::map<std::string, ModelRows> tables;
  for (const KilledThread& thread : threads) {
    for (const auto& [table, rows] : thread.tables()) {
      tables[table].insert(rows.begin(), rows.end());
    }
  }
  for (std::int64_t account = 0; account < kKilledAccounts; ++account) {
    std::int64_t balance = kKilledBalance;
    for (const KilledThread& thread : threads) {
      balance += thread.paid_in(account);
    }
    tables[kAccountTable].emplace(account_key(account), ModelRow{.count = balance});
  }
  return tables;
}

/// What this life of a thread has reported.
struct Reported {
  std::uint64_t required = 0;          ///< must be there
  std::uint64_t committed = 0;         ///< the last one
  std::uint64_t ended = 0;             ///< one more may be there
  std::set<std::uint64_t> given_up{};  ///< must not be there
};

/// One database and its many lives.
class Lives {
 public:
  Lives(const std::filesystem::path& parent, std::uint64_t seed)
      : random_(seed), directory_(parent), path_(directory_.path("database")) {
    for (std::uint32_t i = 0; i < kKilledThreads; ++i) {
      threads_.emplace_back(seed, i);
    }
    Database database = open_database(path_, any_options(random_));
    make_killed_tables(database);
    database.close();
  }

  void run_round() {
    ++life_;
    live_and_die();
    if (random_.one_in(3)) {
      recover_and_die();
    }
    if (!::testing::Test::HasFailure()) {
      look();
    }
    if (!::testing::Test::HasFailure()) {
      audit();
    }
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format(
        "{} rounds, {} of them killed ({} while recovering), {} read at first; {} transactions "
        "acknowledged, {} "
        "given up, {} of those acknowledged asynchronously lost, {} found that were not "
        "acknowledged; among those found {} bulks, {} changes of definitions",
        life_, killed_, killed_recovering_, read_only_, acknowledged_, given_up_, lost_,
        found_beyond_, bulks_, definitions_);
  }

 private:
  void note(const Report& report) {
    Reported& reported = reported_[report.thread];
    reported.ended = report.number;
    if (report.commit_status == KilledOutcome::given_up) {
      ++given_up_;
      reported.given_up.insert(report.number);
      return;
    }
    ++acknowledged_;
    reported.committed = report.number;
    if (report.is_durable) {
      reported.required = report.number;
    }
  }

  void live_and_die() {
    reported_.clear();
    for (const KilledThread& thread : threads_) {
      reported_.push_back({thread.number(), thread.number(), thread.number(), {}});
    }
    const Milliseconds until_kill(random_.below(kWorkMillisecondsMax));
    const bool is_killed = !random_.one_in(20);
    const bool closes = !is_killed || random_.one_in(5);  // and is killed meanwhile
    const Milliseconds duration = closes ? until_kill : Milliseconds(kStuck);
    const Options options = any_options(random_);
    const auto stuck = SteadyClock::now() + kStuck;
    Process process(
        [&](int pipe) { return live(path_, options, threads_, life_, duration, pipe); });
    const auto each = [&](const Report& report) { note(report); };
    process.read_until(is_killed ? SteadyClock::now() + until_kill : stuck, each);
    ASSERT_LT(SteadyClock::now(), stuck) << "the process hangs";
    if (is_killed && random_.one_in(2)) {
      read_until_durable(process, stuck);
    }
    if (is_killed) {
      process.kill();
    }
    process.read_until(stuck, each);
    const int status = process.wait();
    ASSERT_TRUE(status == -SIGKILL || status == EXIT_SUCCESS) << "status " << status;
    killed_ += status == -SIGKILL ? 1U : 0U;
    is_closed_ = status == EXIT_SUCCESS;
  }

  /// Checks that a commit acknowledged before it is durable becomes durable soon after.
  void read_until_durable(const Process& process, SteadyClock::time_point deadline) {
    while (const auto report = process.read(deadline)) {
      note(*report);
      if (report->is_durable && report->commit_status == KilledOutcome::committed) {
        return;
      }
    }
  }

  void recover_and_die() {
    const Milliseconds until_kill(random_.below(kRecoveryMillisecondsMax));
    const Options options = any_options(random_);
    Process process([&](int) {
      open_database(path_, options).close();
      return EXIT_SUCCESS;
    });
    process.read_until(SteadyClock::now() + until_kill, [](const Report&) {});
    process.kill();
    const int status = process.wait();
    ASSERT_TRUE(status == -SIGKILL || status == EXIT_SUCCESS) << "status " << status;
    killed_recovering_ += status == -SIGKILL ? 1U : 0U;
  }

  /// Opens the files and compares; often read-only first, which changes nothing.
  void look() {
    if (random_.one_in(2)) {
      Options options = any_options(random_);
      options.memory_bytes = std::uint64_t{64} << 20U;
      options.read_only = true;
      ASSERT_NO_FATAL_FAILURE(look_at_all(options)) << "opened to be read";
      ++read_only_;
    }
    look_at_all(any_options(random_));
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      count_lost(threads_[i].number(), reported_[i]);
    }
  }
  void look_at_all(const Options& options) {
    Database database = open_database(path_, options);
    for (KilledThread& thread : threads_) {
      ASSERT_NO_FATAL_FAILURE(catch_up(database, thread)) << "thread " << thread.thread();
    }
    const auto expected = rows_of_all(threads_);
    std::set<std::string> found;
    for (const TableSchema& schema : database.tables()) {
      found.insert(schema.name);
    }
    std::set<std::string> names;
    for (const auto& [table, rows] : expected) {
      names.insert(table);
    }
    ASSERT_EQ(found, names);
    for (const auto& [table, rows] : expected) {
      look_at(database.table(table), table, rows);
    }
    database.close();
  }
  void look_at(const Table& table, const std::string& name, const ModelRows& rows) {
    EXPECT_EQ(difference(table.cursor(), rows), "") << '"' << name << '"';
    std::set<std::pair<std::string, std::string>> expected = threads_[0].indexes();
    for (const IndexSchema& index : table.indexes()) {
      EXPECT_EQ(expected.erase({name, index.name}), 1U) << name << '.' << index.name;
      EXPECT_EQ(difference(table.index(index.name).cursor(), rows), "")
          << name << '.' << index.name;
    }
    for (const auto& [of, index] : expected) {
      EXPECT_NE(of, name) << index << " is missing";
    }
  }

  /// Advances the thread's model to the transaction that its marker names.
  void catch_up(const Database& database, KilledThread& thread) {
    const Reported& reported = reported_[thread.thread()];
    const ModelKey key = marker_key();
    const auto row = database.table(own_table(thread.thread())).get({key.part, key.name});
    const std::uint64_t found =
        row ? static_cast<std::uint64_t>((*row)["count"].as_integer()) : std::uint64_t{0};
    ASSERT_GE(found, is_closed_ ? reported.committed : reported.required)
        << "acknowledged commits are lost";
    ASSERT_LE(found, reported.ended + (is_closed_ ? 0 : 1)) << "no thread has begun it";
    ASSERT_FALSE(reported.given_up.contains(found)) << found << " was rolled back";
    while (thread.number() < found) {
      commit_next(thread, reported);
    }
  }
  void count_lost(std::uint64_t found, const Reported& reported) {
    found_beyond_ += found > reported.ended ? 1U : 0U;
    for (std::uint64_t number = found + 1; number <= reported.ended; ++number) {
      lost_ += reported.given_up.contains(number) ? 0U : 1U;
    }
  }
  void commit_next(KilledThread& thread, const Reported& reported) {
    std::uint64_t number = thread.number() + 1;
    while (reported.given_up.contains(number)) {
      ++number;
    }
    const KilledPlan plan = thread.plan(life_, number);
    EXPECT_FALSE(plan.is_rolled_back) << "thread " << thread.thread() << ": " << number;
    bulks_ += plan.is_bulk ? 1U : 0U;
    definitions_ += plan.has_definition() ? 1U : 0U;
    thread.commit(plan);
  }

  /// Trees, pages, definitions and indexes agree.
  void audit() const {
    const auto device = io::open_device(path_, {.log = {}});
    engine::EngineOptions options;
    options.background_threads = false;
    const auto database = engine::Engine::open(*device, *device, options);
    EXPECT_FALSE(database->recovery().was_needed);
    EXPECT_TRUE(engine::test::sound(*database));
    database->close();
  }

  Random random_;
  TemporaryDirectory directory_;
  std::string path_;
  Threads threads_;
  std::uint64_t life_ = 0;
  bool is_closed_ = false;  ///< the last life ended well
  std::vector<Reported> reported_;

  std::uint64_t killed_ = 0;
  std::uint64_t killed_recovering_ = 0;
  std::uint64_t read_only_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t found_beyond_ = 0;
  std::uint64_t bulks_ = 0;
  std::uint64_t definitions_ = 0;
};

void run_lives(const std::filesystem::path& parent) {
  Lives lives(parent, seed());
  const auto end =
      SteadyClock::now() + std::chrono::duration<double>(test_seconds(kSecondsPerPlace));
  do {
    lives.run_round();
  } while (SteadyClock::now() < end && !::testing::Test::HasFailure());
  fmt::print("{}\n", lives.summary());
}

TEST(KilledModelTest, WhatIsFoundIsWhatWasCommitted) {
  run_lives(std::filesystem::temp_directory_path());
}

// Far faster than disks, so that kills hit more of what happens in memory.
TEST(KilledModelTest, InMemoryFilesToo) {
  run_lives(memory_file_system());
}

}  // namespace
}  // namespace palimpsest
