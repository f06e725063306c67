// Database::backup() on files: tables with their indexes, while bulks and transactions change them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;

Options small() {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.durability = Durability::asynchronous;
  return options;
}

class ApiBackup : public ::testing::Test {
 protected:
  ApiBackup()
      : database_(Database::open(directory_.path("db"), small())),
        parts_(database_.create_table({.name = "part",
                                       .columns = {{"round", int64()},
                                                   {"number", int64()},
                                                   {"amount", int64()},
                                                   {"body", bytes(20'000)}},
                                       .key = {"round", "number"}})) {
    database_.create_index("part", {.name = "by_amount", .columns = {"amount"}});
  }

  /// A bulk inserts ascending rows, which get leaves of their own.
  void load_round(std::int64_t round) {
    database_.run(
        [&](Transaction& bulk) {
          const std::string body(60, 'b');
          for (std::int64_t i = 0; i < kRowsOfRound; ++i) {
            parts_.insert(bulk, {round, i, i % 100, body}).require();
          }
        },
        {.transaction = {.bulk = true}});
  }
  void erase_round(std::int64_t round) {
    database_.run(
        [&](Transaction& bulk) {
          parts_.erase_range(bulk, Range::prefix({round})).outcome.require();
        },
        {.transaction = {.bulk = true}});
  }
  [[nodiscard]] static std::map<std::int64_t, std::int64_t> rows_by_round(const Table& parts) {
    std::map<std::int64_t, std::int64_t> rows;
    parts.visit(Range::all(), [&](const RowView& row) {
      ++rows[row["round"].as_integer()];
      return true;
    });
    return rows;
  }
  [[nodiscard]] static std::int64_t entries_of(const Table& parts) {
    std::int64_t entries = 0;
    for (Cursor cursor = parts.index("by_amount").cursor(); cursor.valid(); cursor.next()) {
      ++entries;
    }
    return entries;
  }

  static constexpr std::int64_t kRowsOfRound = 12'000;
  test::TemporaryDirectory directory_{test::memory_file_system()};
  Database database_;
  Table parts_;
};

// The copy contains each bulk wholly or not at all, in the order of their commits, and the index
// agrees.
TEST_F(ApiBackup, BulksMeanwhile) {
  std::atomic<bool> ends{false};
  std::vector<std::string> copies;
  load_round(0);
  test::run_threads(3, [&](std::size_t thread) {
    if (thread == 0) {
      for (std::int64_t round = 1; !ends.load(); ++round) {
        load_round(round);
        erase_round(round - 1);
      }
    } else if (thread == 1) {
      const Table bodies = database_.create_table(
          {.name = "body", .columns = {{"id", int64()}, {"body", bytes(20'000)}}, .key = {"id"}});
      Random random(test::seed());
      while (!ends.load()) {
        const auto id = static_cast<std::int64_t>(random.below(500));
        const std::string body(1'000 + random.below(12'000), 'x');
        bodies.upsert({id, body}).require();
      }
    } else {
      for (test::Rounds rounds(3, 2.0); rounds.next();) {
        copies.push_back(directory_.path("copy" + std::to_string(copies.size())));
        const BackupReport report = database_.backup(copies.back());
        EXPECT_EQ(report.damaged_pages, 0U);
      }
      ends.store(true);
    }
  });
  for (const std::string& path : copies) {
    Database copy = Database::open(path, small());
    const Table parts = copy.table("part");
    const auto rounds = rows_by_round(parts);
    EXPECT_GE(rounds.size(), 1U);
    EXPECT_LE(rounds.size(), 2U);
    std::int64_t rows = 0;
    for (const auto& [round, count] : rounds) {
      EXPECT_EQ(count, kRowsOfRound) << path << ", round " << round;
      rows += count;
    }
    EXPECT_EQ(entries_of(parts), rows) << path;
    copy.close();
  }
}

TEST_F(ApiBackup, TheDirectoryIsMadeAndTakenAwayAgain) {
  load_round(0);
  const std::string path = directory_.path("copy");
  const BackupOptions refused{.progress = [](const BackupProgress&) { throw 1; }};
  EXPECT_THROW(database_.backup(path, refused), int);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::create_directory(path);
  EXPECT_THROW(database_.backup(path, refused), int);
  EXPECT_TRUE(std::filesystem::is_empty(path));
  database_.backup(path);
  EXPECT_EQ(rows_by_round(Database::open(path, small()).table("part")).at(0), kRowsOfRound);
}

TEST_F(ApiBackup, DirectoriesThatCannotBeTaken) {
  EXPECT_EQ(error_of([&] { database_.backup(directory_.path("db")); }), ErrorCode::already_exists);
  EXPECT_EQ(error_of([&] { database_.backup(directory_.path("no/where")); }), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { database_.backup(directory_.path("db/pages")); }),
            ErrorCode::not_a_database);
}

TEST_F(ApiBackup, ARateIsKept) {
  load_round(0);
  const auto begun = std::chrono::steady_clock::now();
  const BackupReport report =
      database_.backup(directory_.path("copy"), {.bytes_per_second_max = std::uint64_t{20} << 20U});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
  EXPECT_GE(taken.count() * 20.0 * 1048576.0, 0.9 * static_cast<double>(report.page_bytes));
}

TEST_F(ApiBackup, OneThatWasClosedIsNotCopied) {
  database_.close();
  EXPECT_EQ(error_of([&] { database_.backup(directory_.path("copy")); }),
            ErrorCode::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(directory_.path("copy")));
}

}  // namespace
}  // namespace palimpsest
