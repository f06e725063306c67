// Altering tables beside other transactions: what those see and when, and which of them wait.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/engine/api/alter_table_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::AlterTableTest;
using test::error_of;
using test::names_of;

TEST_F(AlterTableTest, OtherTransactionsSeeItFromItsCommitOn) {
  fill(500);
  Transaction old = database_.begin();
  const Table before = table();
  EXPECT_EQ(before.get(old, {7})->text(), "(7, \"owner 00007\", 70)");
  Transaction by = begin_bulk();
  by.drop_column("account", "balance").require();
  by.add_column("account", {"note", nullable(varchar(9))}, "new").require();
  const Table inside = by.table("account");
  EXPECT_THAT(names_of(inside), ::testing::ElementsAre("id", "owner", "note"));
  EXPECT_EQ(inside.get(by, {7})->text(), "(7, \"owner 00007\", \"new\")");
  inside.insert(by, {500, "owner 00500", Value()}).require();
  EXPECT_THAT(names_of(table()), ::testing::ElementsAre("id", "owner", "balance"));
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 70)");
  EXPECT_EQ(before.insert({501, "x", 1}).kind(), OutcomeKind::conflict);
  EXPECT_EQ(before.get(old, {7})->text(), "(7, \"owner 00007\", 70)");
  by.commit();
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", \"new\")");
  EXPECT_EQ(text_of(500), "(500, \"owner 00500\", null)");
  EXPECT_EQ(before.get(old, {7})->text(), "(7, \"owner 00007\", 70)") << "its snapshot is older";
  EXPECT_FALSE(before.get(old, {500}));
  std::size_t by_owner = 0;
  for (Cursor cursor = before.index("by_owner").cursor(old); cursor.valid(); cursor.next()) {
    EXPECT_EQ(cursor.row().column_count(), 3U);
    EXPECT_EQ(cursor.row()["balance"].as_integer(), 10 * cursor.row()["id"].as_integer());
    ++by_owner;
  }
  EXPECT_EQ(by_owner, 500U);
  const Table of_old = old.table("account");
  EXPECT_THAT(names_of(of_old), ::testing::ElementsAre("id", "owner", "balance"));
  EXPECT_EQ(of_old.get(old, {7})->get(of_old.column<std::int32_t>("balance")), 70);
  EXPECT_EQ(before.erase(old, {7}).kind(), OutcomeKind::conflict) << "the first updater wins";
  EXPECT_EQ(before.get({8})->text(), "(8, \"owner 00008\", \"new\")") << "handles go on";
}

// The rows move to new trees, so what a bulk has left in the old ones blocks no transaction.
TEST_F(AlterTableTest, ABulkBeforeItBlocksNoTransaction) {
  fill(100);
  Transaction old = database_.begin();
  EXPECT_EQ(table().get(old, {7})->text(), "(7, \"owner 00007\", 70)");
  const auto update = [&](std::int32_t balance) {
    Transaction by = begin_bulk();
    table().update(by, {7}, {{"balance", balance}}).require();
    by.commit();
  };
  update(1);
  EXPECT_TRUE(altered([](Transaction& by) { return by.add_column("account", {"a", int8()}, 3); }));
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 1, 3)");
  EXPECT_EQ(error_of([&] { return update(2), 0; }), std::nullopt);
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 2, 3)");
  EXPECT_EQ(table().get(old, {7})->text(), "(7, \"owner 00007\", 70)");
}

TEST_F(AlterTableTest, ASerializableReaderOfTheOldRowsDoesNotCommitBehindIt) {
  fill(10);
  database_.create_table({.name = "seen", .columns = {{"k", int32()}}, .key = {"k"}});
  Transaction reader = database_.begin({.isolation = Isolation::serializable});
  EXPECT_TRUE(table().get(reader, {7}));
  altered([](Transaction& by) { return by.drop_column("account", "balance"); }).require();
  database_.table("seen").insert(reader, {1}).require();
  EXPECT_EQ(error_of([&] { return reader.commit(), 0; }), ErrorCode::not_serializable);
}

// All rows that a reader sees have the columns of its snapshot, while columns come and go beside
// readers and writers of any snapshot.
TEST_F(AlterTableTest, ReadersSeeOneMoment) {
  constexpr int kRows = 300;
  fill(kRows);
  std::atomic<bool> ends{false};
  std::atomic<std::uint64_t> looks{0};
  std::atomic<std::uint64_t> writes{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      while (!ends) {
        const Transaction by = database_.begin({.read_only = true});
        std::int64_t sum = 0;
        std::optional<std::size_t> columns;
        std::size_t rows = 0;
        const auto look = [&](const RowView& row) {
          EXPECT_EQ(columns.value_or(row.column_count()), row.column_count());
          columns = row.column_count();
          sum += row["balance"].as_integer() - row["id"].as_integer() * 10;
          sum += row.column_count() == 4 ? row["extra"].as_integer() - 5 : 0;
          ++rows;
          return true;
        };
        if (number == 0) {
          table().visit(by, Range::all(), look);
        } else {
          for (Cursor cursor = number == 1 ? table().cursor(by)
                                           : table().index("by_owner").cursor(by);
               cursor.valid(); cursor.next()) {
            look(cursor.row());
          }
        }
        EXPECT_EQ(sum, 0);
        EXPECT_EQ(rows, std::size_t{kRows});
        ++looks;
      }
    });
  }
  threads.emplace_back([&] {
    Random random(test::seed());
    while (!ends) {
      const auto id = static_cast<std::int64_t>(random.below(kRows));
      try {
        const std::string owner = fmt::format("owner {:05}", random.below(100'000));
        writes += table().update({id}, {{"owner", owner}}) ? 1U : 0U;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::conflict) << error.what();
      }
    }
  });
  std::size_t alterations = 0;
  for (test::Rounds rounds(20); rounds.next() && !HasFailure();) {
    const bool has_extra = table().schema().columns.size() == 4;
    const Outcome outcome = altered([&](Transaction& by) {
      return has_extra ? by.drop_column("account", "extra")
                       : by.add_column("account", {"extra", int32()}, 5);
    });
    alterations += outcome ? 1U : 0U;
  }
  while ((looks == 0 || writes == 0) && !HasFailure()) {
    std::this_thread::yield();
  }
  ends = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_GT(alterations, 0U);
  reopen();
  EXPECT_EQ(count_by_owner(), std::size_t{kRows});
}

#ifdef PALIMPSEST_SYNC_POINTS

// Between the check of the columns and their change no other transaction may change them.
TEST_F(AlterTableTest, OfTwoBothCountOrOneIsInConflict) {
  fill(10);
  Transaction first = begin_bulk();
  first.add_column("account", {"a", int8()}, 1).require();
  Transaction second = begin_bulk();
  EXPECT_EQ(second.add_column("account", {"b", int8()}, 2).kind(), OutcomeKind::conflict);
  {
    const SyncHook hook("engine.table.altering", [&] {
      if (first.is_active()) {
        first.commit();
      }
    });
    EXPECT_TRUE(second.add_column("account", {"b", int8()}, 2));
  }
  second.commit();
  EXPECT_EQ(text_of(7), "(7, \"owner 00007\", 70, 1, 2)");
}

// Columns become visible with the rows: not when the definition is stored, nor before the commit is
// decided.
TEST_F(AlterTableTest, ColumnsAreThoseOfTheRowsAtEachStep) {
  fill(10);
  const auto agrees = [&] {
    const auto row = table().get({7});
    return row && row->view().column_count() == table().schema().columns.size() &&
           database_.tables()[0] == table().schema();
  };
  std::size_t hits = 0;
  for (const char* const point : {"engine.definitions.stored", "txn.commit.begun"}) {
    Transaction by = begin_bulk();
    by.add_column("account", {point, nullable(int8())}, 1).require();
    const SyncHook hook(point, [&] {
      if (hits++ < 1000 && by.is_active()) {
        EXPECT_TRUE(agrees());
      }
    });
    by.commit();
    EXPECT_TRUE(agrees());
  }
  EXPECT_GT(hits, 1U);
}

#endif

}  // namespace
}  // namespace palimpsest
