// Options::log and Options::log_level: what a program sees of the messages, on which thread, and
// what a function that blocks or throws does to the database: nothing.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/log.h"

#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/log_recorder.h"
#include "tests/support/system_call_filter.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using test::eventually;
using test::LogRecorder;
using test::RecordedMessage;
using test::run_in_child;
using SteadyClock = std::chrono::steady_clock;

constexpr int kNoFilter = 90;

TableSchema notes() {
  return {.name = "note", .columns = {{"id", int64()}, {"text", varchar(2000)}}, .key = {"id"}};
}

class ReportsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] Options options(LogLevel level = LogLevel::info) const {
    return {
        .memory_bytes = std::uint64_t{16} << 20U, .log = recorder_.function(), .log_level = level};
  }
  /// Those of the database as a whole: what its devices report is up to this machine.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> found;
    for (const RecordedMessage& one : recorder_.of("database")) {
      found.push_back(one.message);
    }
    return found;
  }

  const LogRecorder recorder_;
  const test::TemporaryDirectory directory_;
};

TEST_F(ReportsTest, OpeningAndClosingAreReportedBeforeTheyReturn) {
  Options slow = options();
  slow.log = [record = recorder_.function()](const LogMessage& message) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    record(message);
  };
  Database database = Database::open(path(), slow);
  EXPECT_THAT(messages(), testing::ElementsAre("the database is open"));
  EXPECT_EQ(recorder_.of("database").front().number("memory_bytes"), options().memory_bytes);
  EXPECT_EQ(recorder_.of("database").front().field("path"), path());
  database.close();
  EXPECT_THAT(messages(), testing::ElementsAre("the database is open", "the database is closed"));
}

TEST_F(ReportsTest, ADatabaseThatIsDestroyedIsClosedAndSaysSo) {
  {
    const Database database = Database::open(path(), options());
  }
  EXPECT_EQ(recorder_.count("database", "is closed"), 1U);
}

TEST_F(ReportsTest, TheLevelIsTheLeastThatIsReported) {
  Database::open(path(), options(LogLevel::warning)).close();
  Database::open(path(), options(LogLevel::off)).close();
  EXPECT_TRUE(messages().empty());
  Database::open(path(), options(LogLevel::debug)).close();
  EXPECT_NE(recorder_.count("checkpoint", "has ended"), 0U);
  for (const RecordedMessage& one : recorder_.all()) {
    EXPECT_TRUE(one.level <= LogLevel::info || one.component == "device") << one.text;
  }
  EXPECT_EQ(error_of([&] { return Database::open(path(), options(LogLevel{7})); },
                     "option log_level is 7"),
            ErrorCode::invalid_argument);
}

TEST_F(ReportsTest, NoMessageComesOnAThreadOfTheProgram) {
  Database database = Database::open(path(), options(LogLevel::debug));
  const Table table = database.create_table(notes());
  for (std::int64_t id = 0; id < 100; ++id) {
    table.insert({id, "text"}).require();
  }
  database.close();
  ASSERT_FALSE(recorder_.all().empty());
  for (const RecordedMessage& one : recorder_.all()) {
    EXPECT_NE(one.thread, std::this_thread::get_id()) << one.text;
  }
}

// What was found before is said before the error is thrown.
TEST_F(ReportsTest, AnOpeningThatFailsHasSaidWhatItHadToSay) {
  EXPECT_EQ(run_in_child([&] {
              if (!test::forbid_calls({SCMP_SYS(io_uring_setup)}, EPERM)) {
                return kNoFilter;
              }
              Options absent = options();
              absent.create_if_missing = false;
              std::filesystem::create_directory(path());
              const auto code = error_of([&] { return Database::open(path(), absent); });
              return code == ErrorCode::not_found &&
                             recorder_.count("device", "io_uring cannot be used") == 1
                         ? 0
                         : 1;
            }),
            0);
}

TEST_F(ReportsTest, AFunctionThatThrowsHarmsNothing) {
  std::atomic<int> calls{0};
  Options throwing = options(LogLevel::debug);
  throwing.log = [&](const LogMessage&) {
    ++calls;
    throw std::runtime_error("the disk of the log is full");
  };
  Database database = Database::open(path(), throwing);
  const Table table = database.create_table(notes());
  table.insert({1, "text"}).require();
  database.close();
  EXPECT_GE(calls.load(), 3);
  Database again = Database::open(path(), options());
  EXPECT_TRUE(again.table("note").get({1}));
}

// Commits, checkpoints, reads and new transactions go on while the function is in a call: it holds
// nothing that they need, and they wait for nothing that it does.
TEST_F(ReportsTest, CommitsGoOnWhileTheFunctionBlocks) {
  std::atomic<bool> blocks{false};
  std::atomic<bool> is_blocked{false};
  std::atomic<bool> go_on{false};
  Options blocking = options(LogLevel::debug);
  blocking.log_bytes_max = std::uint64_t{2} << 20U;  // many checkpoints, which are reported
  blocking.log = [&, record = recorder_.function()](const LogMessage& message) {
    record(message);
    while (blocks && !go_on) {
      is_blocked = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  Database database = Database::open(path(), blocking);
  const Table table = database.create_table(notes());
  blocks = true;
  const auto blocked_since = SteadyClock::now();
  std::int64_t id = 0;
  std::int64_t while_blocked = 0;
  const std::string text(1500, 't');
  while (!is_blocked || SteadyClock::now() < blocked_since + std::chrono::seconds(1)) {
    table.insert({++id, text}).require();
    while_blocked += is_blocked ? 1 : 0;
    ASSERT_LT(SteadyClock::now(), blocked_since + std::chrono::seconds(60));
  }
  EXPECT_GT(while_blocked, 0);
  EXPECT_TRUE(table.get({id}));
  const std::size_t before = recorder_.all().size();
  go_on = true;
  database.close();
  EXPECT_GT(recorder_.all().size(), before) << "what was queued meanwhile";
  EXPECT_EQ(recorder_.count("database", "is closed"), 1U);
}

TEST_F(ReportsTest, SeveralDatabasesShareAFunction) {
  constexpr int kDatabases = 3;
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kDatabases; ++number) {
      threads.emplace_back([&, number] {
        for (int times = 0; times < 3; ++times) {
          Database::open(path() + std::to_string(number), options()).close();
        }
      });
    }
  }
  EXPECT_EQ(recorder_.count("database", "is open"), 3U * kDatabases);
  EXPECT_EQ(recorder_.count("database", "is closed"), 3U * kDatabases);
}

// Handles may be kept after close(), and the function may refer to what is gone by then.
TEST_F(ReportsTest, TheFunctionIsReleasedByClose) {
  auto captured = std::make_shared<int>(0);
  Options with = options();
  with.log = [captured](const LogMessage&) {};
  Database database = Database::open(path(), with);
  with.log = {};
  EXPECT_GT(captured.use_count(), 1);
  database.close();
  EXPECT_EQ(captured.use_count(), 1);
}

// The default

class DefaultLogTest : public ReportsTest {
 protected:
  /// What a process writes to standard error that opens and closes the database, on a host that
  /// forbids io_uring.
  [[nodiscard]] std::string written_by(const Options& options) const {
    const std::string written = directory_.path("stderr");
    const int code = run_in_child([&] {
      if (!test::forbid_calls({SCMP_SYS(io_uring_setup)}, EPERM)) {
        return kNoFilter;
      }
      if (std::freopen(written.c_str(), "w", stderr) == nullptr) {
        return 1;
      }
      Database::open(path(), options).close();
      return 0;
    });
    EXPECT_EQ(code, 0);
    std::ostringstream text;
    text << std::ifstream(written).rdbuf();
    return text.str();
  }
  [[nodiscard]] static Options small(LogLevel level) {
    return {.memory_bytes = std::uint64_t{16} << 20U, .log_level = level};
  }
};

TEST_F(DefaultLogTest, WarningsAreWrittenToStandardErrorAndNothingElse) {
  const std::string written = written_by({.memory_bytes = std::uint64_t{16} << 20U});
  EXPECT_THAT(written, testing::StartsWith("palimpsest: warning: device: io_uring cannot be used"));
  EXPECT_EQ(std::ranges::count(written, '\n'), 1) << written;
  EXPECT_THAT(written, testing::HasSubstr(" path=" + path() + " "));
}

TEST_F(DefaultLogTest, TheLevelSaysWhatIsWritten) {
  EXPECT_EQ(written_by(small(LogLevel::error)), "");
  EXPECT_EQ(written_by(small(LogLevel::off)), "");
  const std::string written = written_by(small(LogLevel::info));
  EXPECT_THAT(written,
              testing::HasSubstr("palimpsest: info: database: the database is open path="));
  EXPECT_THAT(written, testing::HasSubstr("palimpsest: info: database: the database is closed "));
}

// fork()

TEST_F(ReportsTest, AChildReportsNothing) {
  Database database = Database::open(path(), options(LogLevel::debug));
  const Table table = database.create_table(notes());
  const std::size_t before = recorder_.all().size();
  EXPECT_EQ(run_in_child([&] {
              {
                const Database inherited = std::move(database);
                static_cast<void>(error_of([&] { return table.get({1}); }));
              }
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              return recorder_.all().size() == before ? 0 : 1;
            }),
            0);
  database.close();
  EXPECT_EQ(recorder_.count("database", "is closed"), 1U);
}

}  // namespace
}  // namespace palimpsest
