// Options::read_only: everything can be read, and no file changes, whatever state the files are in.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/row_sort.h"

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::int64_t kRows = 1'000;

Options to_write() {
  Options options;
  options.memory_bytes = 16 * kMiB;
  options.log_bytes_max = 256 * kMiB;
  return options;
}
Options to_read() {
  Options options;
  options.memory_bytes = 16 * kMiB;
  options.read_only = true;
  return options;
}

/// Each file's name and bytes.
std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    std::ostringstream text;
    text << std::ifstream(file.path(), std::ios::binary).rdbuf();
    files[file.path().filename().string()] = text.str();
  }
  return files;
}

/// A row in ten is large.
std::string body_of(std::int64_t id) {
  return std::string(id % 10 == 0 ? 9'000 : 700, static_cast<char>('a' + id % 26));
}

class ReadOnly : public ::testing::Test {
 protected:
  ReadOnly() {
    Database database = Database::open(path(), to_write());
    database.create_table(
        {.name = "item",
         .columns = {{"id", int64()}, {"color", int64()}, {"body", bytes(10'000)}},
         .key = {"id"}});
    database.create_index("item", {.name = "by_color", .columns = {"color"}});
    database.run([&](Transaction& in) { insert(database.table("item"), in, 0, kRows); });
    database.close();
  }

  static void insert(const Table& items, Transaction& in, std::int64_t begin, std::int64_t end) {
    for (std::int64_t id = begin; id < end; ++id) {
      const std::string body = body_of(id);
      items.insert(in, {id, id % 7, body}).require();
    }
  }
  static void expect_rows(const Database& database, std::int64_t rows) {
    const Table items = database.table("item");
    std::int64_t next = 0;
    for (Cursor cursor = items.cursor(); cursor.valid(); cursor.next(), ++next) {
      ASSERT_EQ(cursor.row()["id"].as_integer(), next);
      ASSERT_EQ(cursor.row()["body"].as_bytes(), body_of(next));
    }
    EXPECT_EQ(next, rows);
    std::int64_t by_color = 0;
    for (Cursor cursor = items.index("by_color").cursor(); cursor.valid(); cursor.next()) {
      ++by_color;
    }
    EXPECT_EQ(by_color, rows);
  }
  /// The files of a process that is killed after it has committed further rows, as they are at that
  /// moment.
  void crash_after(std::int64_t rows) {
    Options options = to_write();
    options.memory_bytes = 64 * kMiB;  // no page has to be evicted
    Database database = Database::open(path(), options);
    for (std::int64_t id = kRows; id < kRows + rows; id += 20) {
      database.run([&](Transaction& in) { insert(database.table("item"), in, id, id + 20); });
    }
    Transaction unfinished = database.begin();
    insert(database.table("item"), unfinished, kRows + rows, kRows + rows + 50);
    std::filesystem::copy(path(), crashed());
  }

  [[nodiscard]] std::string path() const { return directory_.path("database"); }
  [[nodiscard]] std::string crashed() const { return directory_.path("crashed"); }

  test::TemporaryDirectory directory_;
};

TEST_F(ReadOnly, EverythingIsReadAndNothingWritten) {
  const auto before = files_of(path());
  Database database = Database::open(path(), to_read());
  expect_rows(database, kRows);
  EXPECT_EQ(database.tables().size(), 1U);
  EXPECT_EQ(database.statistics().page_writes, 0U);
  const Transaction reader = database.begin();
  EXPECT_TRUE(database.table("item").get(reader, {7}));
  database.run([&](Transaction& in) { EXPECT_TRUE(database.table("item").get(in, {8})); });
  EXPECT_EQ(files_of(path()), before);
}

TEST_F(ReadOnly, ClosingWritesNothing) {
  const auto before = files_of(path());
  Database database = Database::open(path(), to_read());
  expect_rows(database, kRows);
  database.close();
  EXPECT_EQ(files_of(path()), before);
  expect_rows(Database::open(path(), to_write()), kRows);
}

TEST_F(ReadOnly, NothingIsChanged) {
  const auto before = files_of(path());
  Database database = Database::open(path(), to_read());
  const Table items = database.table("item");
  Transaction in = database.begin();
  const std::vector<std::function<void()>> writes{
      [&] { static_cast<void>(items.insert({kRows, 1, "x"})); },
      [&] { static_cast<void>(items.insert(in, {kRows, 1, "x"})); },
      [&] { static_cast<void>(items.upsert({1, 1, "x"})); },
      [&] { static_cast<void>(items.update({1}, {{"color", 5}})); },
      [&] { static_cast<void>(items.update(in, {1}, {{"color", 5}})); },
      [&] { static_cast<void>(items.erase({1})); },
      [&] { static_cast<void>(items.erase_range(Range::all())); },
      [&] { static_cast<void>(items.erase_range(in, Range::all())); },
      [&] { static_cast<void>(items.modify({1}, [](RowEditor&) {})); },
      [&] { static_cast<void>(database.create_table(key_value_table("other"))); },
      [&] { static_cast<void>(in.create_table(key_value_table("other"))); },
      [&] { database.drop_table("item"); },
      [&] { database.create_index("item", {.name = "by_body", .columns = {"body"}}); },
      [&] { database.drop_index("item", "by_color"); },
      [&] { static_cast<void>(database.begin({.bulk = true})); },
      [&] { static_cast<void>(RowSort(items)); },
  };
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_EQ(error_of(writes[i], path() + ": the database is open read-only"),
              ErrorCode::invalid_argument)
        << "write " << i;
  }
  expect_rows(database, kRows);
  EXPECT_EQ(files_of(path()), before);
}

TEST_F(ReadOnly, ManyMayReadButNoneWriteBeside) {
  {
    const Database first = Database::open(path(), to_read());
    const Database second = Database::open(path(), to_read());
    expect_rows(first, kRows);
    expect_rows(second, kRows);
    EXPECT_EQ(error_of([&] { return Database::open(path(), to_write()); }), ErrorCode::locked);
  }
  const Database writer = Database::open(path(), to_write());
  EXPECT_EQ(error_of([&] { return Database::open(path(), to_read()); }), ErrorCode::locked);
}

TEST_F(ReadOnly, ThreadsReadMoreThanFits) {
  Options options = to_read();
  options.memory_bytes = 4 * kMiB;
  const Database database = Database::open(path(), options);
  test::run_threads(6, [&](std::size_t) { expect_rows(database, kRows); });
  EXPECT_EQ(database.statistics().page_writes, 0U);
}

TEST_F(ReadOnly, WhatIsNotThereIsNotMade) {
  const std::string none = directory_.path("none");
  EXPECT_EQ(error_of([&] { return Database::open(none, to_read()); }), ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(none));
  const std::string empty = directory_.path("empty");
  std::filesystem::create_directory(empty);
  EXPECT_EQ(error_of([&] { return Database::open(empty, to_read()); }), ErrorCode::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(empty));
}

// After a crash

TEST_F(ReadOnly, WhatACrashHasLeftIsRecoveredInMemory) {
  crash_after(400);
  const auto before = files_of(crashed());
  for (int i = 0; i < 2; ++i) {
    Database database = Database::open(crashed(), to_read());
    expect_rows(database, kRows + 400);
    database.close();
    ASSERT_EQ(files_of(crashed()), before);
  }
  expect_rows(Database::open(crashed(), to_write()), kRows + 400);
}

TEST_F(ReadOnly, MoreThanMemoryHoldsIsNotRecovered) {
  crash_after(9'000);
  const auto before = files_of(crashed());
  Options options = to_read();
  options.memory_bytes = 5 * kMiB;
  EXPECT_EQ(error_of([&] { return Database::open(crashed(), options); }, "more to recover than"),
            ErrorCode::out_of_memory);
  EXPECT_EQ(files_of(crashed()), before);
  options.read_only = false;
  expect_rows(Database::open(crashed(), options), kRows + 9'000);
}

// Wherever the memory ends: in redo, in the undo of uncommitted changes, in the last checkpoint.
TEST_F(ReadOnly, WhatDoesNotFitIsToldAsThat) {
  Options options = to_write();
  options.memory_bytes = 64 * kMiB;
  Database database = Database::open(path(), options);
  Transaction unfinished = database.begin();
  const std::string body(650, 'u');
  for (std::int64_t id = 0; id < kRows; ++id) {
    database.table("item").upsert(unfinished, {id, id % 7, body}).require();
  }
  for (std::int64_t id = kRows; id < 6 * kRows; ++id) {
    database.table("item").insert(unfinished, {id, id % 7, body}).require();
  }
  database.table("item").insert({8 * kRows, 1, body}).require();
  std::filesystem::copy(path(), crashed());
  options = to_read();
  bool fits = false;
  for (std::uint64_t memory = 5 * kMiB; !fits; memory += kMiB / 2) {
    options.memory_bytes = memory;
    const auto code = error_of([&] { return Database::open(crashed(), options); });
    fits = !code;
    ASSERT_TRUE(fits || code == ErrorCode::out_of_memory) << memory << ": " << name_of(*code);
    ASSERT_LT(memory, 64 * kMiB);
  }
  EXPECT_GT(options.memory_bytes, 5 * kMiB);
}

TEST_F(ReadOnly, ManyRecoverBesideEachOther) {
  crash_after(4'000);
  test::run_threads(3, [&](std::size_t) {
    for (int i = 0; i < 3; ++i) {
      expect_rows(Database::open(crashed(), to_read()), kRows + 4'000);
    }
  });
}

TEST_F(ReadOnly, ItsBackupHasWhatWasRecovered) {
  crash_after(400);
  const auto before = files_of(crashed());
  static_cast<void>(Database::open(crashed(), to_read()).backup(directory_.path("copy")));
  EXPECT_EQ(files_of(crashed()), before);
  expect_rows(Database::open(directory_.path("copy"), to_write()), kRows + 400);
}

TEST_F(ReadOnly, ALogElsewhereIsReadOnlyToo) {
  const std::string log = directory_.path("log");
  const std::string pages = directory_.path("pages");
  std::filesystem::create_directory(log);
  Options options = to_write();
  options.log_directory = log;
  {
    Database database = Database::open(pages, options);
    static_cast<void>(database.create_table(key_value_table("word")));
  }
  const auto before = std::pair(files_of(pages), files_of(log));
  options.read_only = true;
  EXPECT_EQ(Database::open(pages, options).tables().size(), 1U);
  EXPECT_EQ(std::pair(files_of(pages), files_of(log)), before);
}

}  // namespace
}  // namespace palimpsest
