// Tables whose rows are replaced again and again: the memory and disk space they take stays
// constant, also beside readers that stay open.
//
// PALIMPSEST_REFRESHES=1000000 runs the first test for so many rounds with 4 MiB.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tests/support/error_of.h"
#include "tests/support/resident_memory.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using test::TemporaryDirectory;

constexpr int kRows = 20;
constexpr std::uint64_t kLeastMebibytes = 4;
/// A small file grows by at least one such step.
constexpr std::uint64_t kFileStep = std::uint64_t{128} << 10U;
const TableSchema kPrices{
    .name = "price", .columns = {{"id", int32()}, {"text", varchar(100)}}, .key = {"id"}};

Options options(std::uint64_t mebibytes) {
  Options options;
  options.memory_bytes = mebibytes << 20U;
  options.max_transactions = 64;
  options.durability = Durability::asynchronous;
  return options;
}

class ReplacedTreesTest : public ::testing::Test {
 protected:
  void open(std::uint64_t mebibytes) {
    database_.emplace(Database::open(directory_.path(), options(mebibytes)));
    database_->create_table(kPrices);
    database_->create_index("price", {.name = "by_text", .columns = {"text"}, .unique = false});
  }
  [[nodiscard]] Table table(const std::string& name = "price") { return database_->table(name); }
  /// Erases all and loads again, in one bulk or in two transactions.
  void refresh(const std::string& name = "price") {
    const Table table = this->table(name);
    table.erase_range(Range::all()).outcome.require();
    database_->run(
        [&](Transaction& by) {
          for (int id = 0; id < kRows; ++id) {
            const std::string text = fmt::format("round {} of {}", round_, id);
            table.insert(by, {id, text}).require();
          }
        },
        {.transaction = {.bulk = true}});
    ++round_;
  }
  [[nodiscard]] int rows(const Transaction* in, const Table& table) {
    int rows = 0;
    const auto count = [&](const RowView&) {
      ++rows;
      return true;
    };
    in == nullptr ? table.visit(Range::all(), count) : table.visit(*in, Range::all(), count);
    return rows;
  }
  [[nodiscard]] std::uint64_t file_bytes() const {
    return std::filesystem::file_size(directory_.path() + "/pages");
  }

  TemporaryDirectory directory_;
  std::optional<Database> database_;
  int round_ = 0;
};

/// Rounds of one test: from the environment, or by default so many.
int rounds_of(int otherwise) {
  const char* const said = std::getenv("PALIMPSEST_REFRESHES");  // NOLINT(concurrency-mt-unsafe)
  return said == nullptr ? test::repeats(otherwise) : std::atoi(said);  // NOLINT(cert-err34-c)
}

class RefreshedTable : public ReplacedTreesTest,
                       public ::testing::WithParamInterface<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(MiB, RefreshedTable, ::testing::Values(4, 16, 64));

// More rounds than the trees that memory can hold.
TEST_P(RefreshedTable, TakesWhatItTookHoweverOften) {
  open(GetParam());
  const int rounds = rounds_of(4000);
  // The file, the log and the memory for versions reach their size within some hundred rounds.
  const int begin = std::max(rounds / 10, std::min(rounds / 2, 2000));
  while (round_ < begin) {
    refresh();
  }
  const std::uint64_t file_before = file_bytes();
  const auto memory_before = test::resident_bytes();
  while (round_ < rounds) {
    ASSERT_NO_THROW(refresh()) << round_;
  }
  // Frames take memory from the system when they are first used, so all of the configured memory
  // may become resident once.
  EXPECT_LE(file_bytes(), file_before + std::max(file_before / 20, kFileStep));
  if (memory_before) {
    EXPECT_LE(test::resident_bytes(), *memory_before + *memory_before / 20 + (GetParam() << 20U));
  }
  EXPECT_EQ(rows(nullptr, table()), kRows);
  database_->create_table({.name = "another", .columns = {{"id", int32()}}, .key = {"id"}});
}

// A reader retains the rows that it sees, and none replaced after that; readers of the newest rows
// retain nothing.
TEST_F(ReplacedTreesTest, AReaderThatStaysOpenHoldsBackWhatItSees) {
  open(4);
  refresh();
  const Table early = table();
  const Transaction reader = database_->begin({.read_only = true});
  const Transaction other =
      database_->begin({.isolation = Isolation::read_committed, .read_only = true});
  Cursor cursor = early.cursor(Range::all(), 1);
  const int rounds = rounds_of(1500);
  while (round_ < rounds) {
    ASSERT_NO_THROW(refresh()) << round_;
    ASSERT_EQ(rows(&other, early), kRows);
    ASSERT_TRUE(early.get({3}).has_value());
  }
  EXPECT_EQ(rows(&reader, early), kRows);
  int seen = 0;
  for (; cursor.valid(); cursor.next()) {
    ASSERT_NE(cursor.row().text().find("round 0 of"), std::string::npos) << cursor.row().text();
    ++seen;
  }
  EXPECT_EQ(seen, kRows);
}

// All trees for which there is memory are retained: the error names the reader that retains them,
// and when it has ended there is memory again.
TEST_F(ReplacedTreesTest, TheReaderThatTakesTheRoomIsNamed) {
  open(kLeastMebibytes);
  refresh();
  std::string message;
  const auto fill = [&] {
    for (int number = 0; number < 1'000'000; ++number) {
      database_->create_table(
          {.name = fmt::format("other {}", number), .columns = {{"id", int32()}}, .key = {"id"}});
    }
  };
  EXPECT_EQ(error_of(fill, &message), ErrorCode::out_of_memory);
  EXPECT_EQ(message.find("are kept for readers"), std::string::npos) << message;
  constexpr int kDropped = 40;
  for (int number = 0; number < kDropped; ++number) {
    database_->drop_table(fmt::format("other {}", number));
  }
  std::vector<Transaction> readers;
  std::optional<ErrorCode> code;
  for (int times = 0; times < 60 && !code; ++times) {
    readers.push_back(database_->begin({.read_only = true}));
    code = error_of([&] { refresh(); }, &message);
  }
  EXPECT_EQ(code, ErrorCode::out_of_memory);
  EXPECT_NE(message.find("trees replaced by bulks and alterations are kept"), std::string::npos)
      << message;
  EXPECT_NE(message.find("a read-only transaction, or a cursor, in slot"), std::string::npos)
      << message;
  EXPECT_NE(message.find("s ago"), std::string::npos) << message;
  readers.clear();
  EXPECT_NO_THROW(refresh()) << "without anybody waiting for anything";
  EXPECT_EQ(rows(nullptr, table()), kRows);
}

// A handle, or an object made for columns that are gone, retains nothing but itself.
TEST_F(ReplacedTreesTest, AlterationsTakeNoMoreTheMoreThereAre) {
  open(4);
  refresh();
  const Table early = table();
  const int rounds = rounds_of(10'000);
  const auto alter = [&](int round) {
    database_->run(
        [&](Transaction& by) {
          const auto outcome = round % 2 == 0
                                   ? by.add_column("price", {"more", nullable(int32())}, round)
                                   : by.drop_column("price", "more");
          outcome.require();
        },
        {.transaction = {.bulk = true}});
  };
  int round = 0;
  while (round < rounds / 10) {
    alter(round++);
  }
  const std::uint64_t file_before = file_bytes();
  const auto memory_before = test::resident_bytes();
  while (round < rounds) {
    ASSERT_NO_THROW(alter(round)) << round;
    ++round;
  }
  EXPECT_LE(file_bytes(), file_before + std::max(file_before / 20, kFileStep));
  if (memory_before) {
    EXPECT_LE(test::resident_bytes(), *memory_before + *memory_before / 20);
  }
  EXPECT_EQ(rows(nullptr, early), kRows);
  EXPECT_EQ(early.schema().columns.size(), rounds % 2 == 0 ? 2U : 3U);
}

}  // namespace
}  // namespace palimpsest
