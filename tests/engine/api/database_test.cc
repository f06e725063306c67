// The public API from end to end, on real files: correct use and misuse.
#include "palimpsest/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;

TableSchema accounts() {
  return {.name = "account",
          .columns = {{"id", int64()}, {"owner", varchar(40)}, {"balance", int64()}},
          .key = {"id"}};
}

const IndexSchema kByOwner{.name = "by_owner", .columns = {"owner"}};

class ApiDatabaseTest : public ::testing::Test {
 protected:
  [[nodiscard]] static Options small() {
    Options options;
    options.memory_bytes = std::uint64_t{16} << 20U;
    options.max_transactions = 64;
    options.durability = Durability::asynchronous;
    options.definition_patience = std::chrono::milliseconds(50);
    options.autocommit_patience = std::chrono::milliseconds(20);
    return options;
  }
  void reopen(const Options& options = small()) {
    database_.close();
    database_ = Database::open(directory_.path(), options);
  }
  /// The account's balance.
  [[nodiscard]] std::int64_t balance(std::int64_t id) {
    const auto row = database_.table("account").get({id});
    return row ? (*row)["balance"].as_integer() : -1;
  }

  test::TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path(), small());
};

TEST_F(ApiDatabaseTest, RowsSurviveClosing) {
  const Table table = database_.create_table(accounts());
  EXPECT_TRUE(table.insert({1, "Ada", 10}));
  EXPECT_EQ(table.insert({1, "Bob", 10}).kind(), OutcomeKind::exists);
  EXPECT_TRUE(table.update({1}, {{"balance", 12}}));
  EXPECT_TRUE(table.upsert({2, "Bob", 5}));
  EXPECT_EQ(table.erase({3}).kind(), OutcomeKind::absent);
  reopen();
  EXPECT_EQ(balance(1), 12);
  EXPECT_EQ(balance(2), 5);
  EXPECT_THAT(database_.tables(), ::testing::ElementsAre(accounts()));
  EXPECT_TRUE(database_.table("account").erase({2}));
  EXPECT_EQ(balance(2), -1);
}

TEST_F(ApiDatabaseTest, TransactionsCountTogetherOrNotAtAll) {
  const Table table = database_.create_table(accounts());
  Transaction transaction = database_.begin();
  table.insert(transaction, {1, "Ada", 10}).require();
  table.insert(transaction, {2, "Bob", 10}).require();
  EXPECT_EQ(error_of([&] { return table.insert(transaction, {2, "Eve", 1}).require(), 0; }),
            ErrorCode::already_exists);
  const Column<std::int64_t> column = table.column<std::int64_t>("balance");
  table.modify(transaction, {1}, [&](RowEditor& row) { row.set(column, row.get(column) + 7); })
      .require();
  transaction.rollback();
  EXPECT_FALSE(transaction.is_active());
  EXPECT_FALSE(table.get({1}));
  {
    Transaction dropped = database_.begin();
    table.insert(dropped, {1, "Ada", 10}).require();
  }
  EXPECT_FALSE(table.get({1}));
  Transaction moved = database_.begin();
  Transaction other = std::move(moved);
  std::thread([&] { table.insert(other, {1, "Ada", 10}).require(); }).join();
  other.commit();
  EXPECT_EQ(balance(1), 10);
  EXPECT_EQ(error_of([&] { return other.commit(), 0; }, "has ended"), ErrorCode::invalid_argument);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(error_of([&] { return moved.commit(), 0; }, "moved from"), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return table.get(other, {1}); }), ErrorCode::invalid_argument);
}

TEST_F(ApiDatabaseTest, WhatATransactionIsNotForIsRefused) {
  const Table table = database_.create_table(accounts());
  Transaction reader = database_.begin({.read_only = true});
  EXPECT_FALSE(table.get(reader, {1}));
  EXPECT_EQ(
      error_of([&] { return table.insert(reader, {1, "Ada", 1}); }, "a read-only transaction"),
      ErrorCode::invalid_argument);
  const test::TemporaryDirectory elsewhere;
  Database another = Database::open(elsewhere.path(), small());
  Transaction foreign = another.begin();
  EXPECT_EQ(error_of([&] { return table.insert(foreign, {1, "Ada", 1}); }, "another database"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return Database::open(directory_.path(), small()).tables(); }),
            ErrorCode::locked);
  Options options = small();
  options.must_be_new = true;
  foreign.rollback();
  another.close();
  EXPECT_EQ(error_of([&] { return Database::open(elsewhere.path(), options).tables(); }),
            ErrorCode::already_exists);
  EXPECT_EQ(error_of([&] { return database_.close(), 0; }, "transactions or cursors are open"),
            ErrorCode::invalid_argument);
  reader.commit();
}

TEST_F(ApiDatabaseTest, ConflictsNameTableAndKey) {
  const Table table = database_.create_table(accounts());
  table.insert({1, "Ada", 10}).require();
  Transaction one = database_.begin();
  Transaction two = database_.begin();
  table.update(one, {1}, {{"balance", 11}}).require();
  const Outcome outcome = table.update(two, {1}, {{"balance", 12}});
  EXPECT_TRUE(outcome.is_conflict());
  EXPECT_EQ(outcome.place().table, "account");
  EXPECT_EQ(outcome.place().key, "(1)");
  EXPECT_TRUE(table.erase({1}).is_conflict()) << "autocommit gives up after a while";
  two.rollback();
  one.commit();
  EXPECT_TRUE(table.erase({1}));
}

TEST_F(ApiDatabaseTest, WritesOfTheirOwnWaitForOtherTransactions) {
  database_.create_table(accounts()).insert({1, "Ada", 10}).require();
  Options options = small();
  options.autocommit_patience = std::chrono::minutes(5);
  reopen(options);
  const Table table = database_.table("account");
  Transaction other = database_.begin();
  table.update(other, {1}, {{"balance", 11}}).require();
  std::thread writes([&] { EXPECT_TRUE(table.update({1}, {{"balance", 12}})); });
  // Wait until the write has met the conflict and has been undone.
  EXPECT_TRUE(test::eventually([&] { return database_.statistics().transactions_active == 2; }));
  EXPECT_TRUE(test::eventually([&] { return database_.statistics().transactions_active == 1; }));
  other.commit();
  writes.join();
  EXPECT_EQ(balance(1), 12);
}

TEST_F(ApiDatabaseTest, WritesOfTheirOwnLeaveNoTransactionBehind) {
  const Table table = database_.create_table(accounts());
  table.insert({1, "Ada", 10}).require();
  EXPECT_EQ(error_of([&] { return table.insert({2, "Bob"}); }, "a row of 2 values"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return table.update({1}, {{"id", 2}}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(table.insert({1, "Bob", 1}).kind(), OutcomeKind::exists);
  reopen();  // not closed cleanly, as long as transactions are active
  EXPECT_EQ(balance(1), 10);
}

TEST_F(ApiDatabaseTest, CursorsGoBothWaysWithinTheirRangeAndEndWithTheirTransaction) {
  const Table table = database_.create_table(accounts());
  for (int id = 0; id < 500; ++id) {
    const std::string owner = fmt::format("owner {}", id % 7);
    table.insert({id, owner, id}).require();
  }
  database_.create_index("account", kByOwner);
  std::vector<std::int64_t> seen;
  Cursor cursor = table.cursor(Range::between({100}, {110}));
  for (; cursor.valid(); cursor.next()) {
    seen.push_back(cursor.row()["id"].as_integer());
  }
  EXPECT_EQ(seen.size(), 11U);
  cursor.seek_last();
  ASSERT_TRUE(cursor.valid());
  EXPECT_EQ(cursor.row()["id"].as_integer(), 110);
  cursor.previous();
  EXPECT_EQ(cursor.row()["id"].as_integer(), 109);
  std::size_t rows = 0;
  for (Cursor owners = table.index("by_owner").cursor(Range::prefix({"owner 3"})); owners.valid();
       owners.next()) {
    EXPECT_EQ(owners.row()["owner"].as_bytes(), "owner 3");
    ++rows;
  }
  EXPECT_EQ(rows, 71U);
  Transaction in = database_.begin();
  Cursor inside = table.cursor(in);
  ASSERT_TRUE(inside.valid());
  in.commit();
  EXPECT_EQ(error_of([&] { return inside.next(), 0; }, "has ended"), ErrorCode::invalid_argument);
  std::int64_t sum = 0;
  table.visit(Range::all(), [&](const RowView& row) {
    sum += row["balance"].as_integer();
    return row["id"].as_integer() < 9;
  });
  EXPECT_EQ(sum, 45);
}

TEST_F(ApiDatabaseTest, HandlesFollowTheirTable) {
  const Table table = database_.create_table(accounts());
  table.insert({1, "Ada", 10}).require();
  database_.create_index("account", kByOwner);
  table.insert({2, "Bob", 20}).require();
  EXPECT_EQ(table.indexes().size(), 1U);
  const Index by_owner = table.index("by_owner");
  EXPECT_EQ(by_owner.cursor(Range::prefix({"Bob"})).row()["id"].as_integer(), 2);
  database_.drop_index("account", "by_owner");
  EXPECT_EQ(error_of([&] { return by_owner.cursor().valid(); }), ErrorCode::not_found);
  table.insert({3, "Eve", 30}).require();
  database_.drop_table("account");
  EXPECT_EQ(error_of([&] { return table.get({1}); }, "account"), ErrorCode::not_found);
  EXPECT_EQ(error_of([&] { return table.insert({4, "Joe", 1}); }), ErrorCode::not_found);
  EXPECT_FALSE(database_.find_table("account"));
  const Table again = database_.create_table(accounts());
  EXPECT_FALSE(again.get({1}));
  EXPECT_EQ(error_of([&] { return table.get({1}); }), ErrorCode::not_found) << "another table";
  EXPECT_EQ(error_of([&] { return database_.create_table(accounts()), 0; }),
            ErrorCode::already_exists);
}

TEST_F(ApiDatabaseTest, DefinitionsAreTriedWhileABulkIsInTheirWay) {
  using Clock = std::chrono::steady_clock;
  database_.create_table(accounts()).insert({1, "Ada", 10}).require();
  const auto defines = [&] { return database_.create_index("account", kByOwner), 0; };
  {
    Transaction bulk = database_.begin({.bulk = true});
    database_.table("account").insert(bulk, {2, "Bob", 20}).require();
    const auto begin = Clock::now();
    EXPECT_EQ(error_of(defines, "account"), ErrorCode::conflict);
    EXPECT_GE(Clock::now() - begin, small().definition_patience);
  }
  Options patient = small();
  patient.definition_patience = std::chrono::minutes(5);
  reopen(patient);
  Transaction bulk = database_.begin({.bulk = true});
  database_.table("account").insert(bulk, {3, "Eve", 30}).require();
  std::thread definer(defines);
  bulk.commit();
  definer.join();
  const Index by_owner = database_.table("account").index("by_owner");
  EXPECT_EQ(by_owner.cursor(Range::prefix({"Eve"})).row()["id"].as_integer(), 3);
}

TEST_F(ApiDatabaseTest, DefinitionsInTransactions) {
  {
    Transaction in = database_.begin();
    ASSERT_TRUE(in.create_table(accounts()));
    const Table table = in.table("account");
    ASSERT_TRUE(table.insert(in, {1, "Ada", 10}));
    ASSERT_TRUE(in.create_index("account", kByOwner));
    ASSERT_TRUE(table.insert(in, {2, "Bob", 10}));
    EXPECT_EQ(in.table("account").indexes().size(), 1U);
    EXPECT_EQ(table.index("by_owner").cursor(in, Range::prefix({"Bob"})).row()["id"].as_integer(),
              2);
    EXPECT_FALSE(database_.find_table("account"));
    EXPECT_EQ(error_of([&] { return table.get({1}); }), ErrorCode::not_found);
    in.commit();
  }
  reopen();
  std::size_t rows = 0;
  for (Cursor cursor = database_.table("account").index("by_owner").cursor(); cursor.valid();
       cursor.next()) {
    ++rows;
  }
  EXPECT_EQ(rows, 2U);
}

TEST_F(ApiDatabaseTest, ManyRowsAtOnce) {
  const Table table = database_.create_table(key_value_table("blobs"));
  std::map<std::string, std::string> model;
  Random random(palimpsest::test::seed());
  for (int i = 0; i < 2000; ++i) {
    const std::string key = fmt::format("key {}", random.below(5000));
    const std::string value(random.below(20) == 0 ? 20'000 : random.below(100), 'v');
    table.upsert(EncodedRow::of(key, value)).require();
    model[key] = value;
  }
  std::vector<std::string> names;
  std::vector<Key> keys;
  keys.reserve(2000);
  for (int i = 0; i < 5000; i += 3) {
    names.push_back(fmt::format("key {}", i));
  }
  for (const std::string& name : names) {
    keys.push_back(Key::encoded(name));
  }
  std::size_t found = 0;
  table.read_many(keys, [&](std::size_t number, const RowView& row) {
    ASSERT_TRUE(model.contains(names[number]));
    EXPECT_EQ(row.bytes(), model[names[number]]);
    ++found;
  });
  EXPECT_EQ(found, static_cast<std::size_t>(std::count_if(
                       names.begin(), names.end(),
                       [&](const std::string& name) { return model.contains(name); })));
  EXPECT_TRUE(table.rewrite(Key::encoded(model.begin()->first),
                            [](const RowView&) { return std::string_view("changed"); }));
  EXPECT_EQ(table.get(Key::encoded(model.begin()->first))->bytes(), "changed");
  const Statistics statistics = database_.statistics();
  EXPECT_EQ(statistics.memory_bytes, small().memory_bytes);
  EXPECT_GT(statistics.log_bytes, 0U);
  EXPECT_FALSE(database_.options().empty());
}

TEST_F(ApiDatabaseTest, PrefetchedPlacesAreReadWithoutTheDisk) {
  constexpr std::size_t kRows = 3000;
  constexpr std::size_t kStep = 40;  // rows of another page each time
  const auto name_of = [](std::size_t row) { return fmt::format("key {:05}", row); };
  const auto owner_of = [](std::size_t row) { return fmt::format("owner {:031}", row); };
  {
    const Table table = database_.create_table(key_value_table("blobs"));
    const Table owned = database_.create_table(accounts());
    database_.create_index("account", kByOwner);
    const std::string value(400, 'v');
    for (std::size_t row = 0; row < kRows; ++row) {
      table.insert(EncodedRow::of(name_of(row), value)).require();
      const std::string owner = owner_of(kRows - row);
      owned.insert({static_cast<std::int64_t>(row), owner, 7}).require();
    }
  }
  reopen();
  const Table table = database_.table("blobs");
  const Table owned = database_.table("account");
  const Index by_owner = owned.index("by_owner");
  std::vector<std::string> names;
  std::vector<Value> owners;
  std::vector<std::string> owner_names;
  for (std::size_t row = 0; row < kRows; row += kStep) {
    names.push_back(name_of(row));
    owner_names.push_back(owner_of(kRows - row));
  }
  std::vector<Place> places;
  for (std::size_t number = 0; number < names.size(); ++number) {
    places.emplace_back(table, Key::encoded(names[number]));
    owners.emplace_back(owner_names[number]);
  }
  for (const Value& owner : owners) {
    places.emplace_back(by_owner, Key(std::span(&owner, 1)));
  }
  const std::vector<Value> first{Value(0)};
  places.emplace_back(owned, Key(first));
  const auto reads = [&] { return database_.statistics().page_reads; };
  const std::uint64_t before = reads();
  database_.prefetch(places);
  const std::uint64_t prefetched = reads();
  EXPECT_GE(prefetched - before, kRows / kStep + 20) << "the index, too";
  for (const std::string& name : names) {
    EXPECT_TRUE(table.read(Key::encoded(name), [](const RowView&) {}));
  }
  EXPECT_TRUE(owned.read({0}, [](const RowView&) {}));
  EXPECT_EQ(reads(), prefetched);
  database_.prefetch(places);
  database_.prefetch({{table, Key::encoded("none")}, {owned, {}}, {by_owner, {}}});
  EXPECT_LE(reads(), prefetched + 2) << "the last row, and the first entry";
}

TEST_F(ApiDatabaseTest, PlacesThatAreNoneAreRefused) {
  const Table table = database_.create_table(accounts());
  database_.create_index("account", kByOwner);
  const Index index = table.index("by_owner");
  EXPECT_EQ(error_of([&] { return database_.prefetch({{table, {"Ada"}}}), 0; }, "account"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return database_.prefetch({{table, {1, 2}}}), 0; }, "account"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return database_.prefetch({{index, {1}}}), 0; }, "owner"),
            ErrorCode::invalid_argument);
  database_.drop_index("account", "by_owner");
  EXPECT_EQ(error_of([&] { return database_.prefetch({{index, {"Ada"}}}), 0; }, "by_owner"),
            ErrorCode::not_found);
  database_.drop_table("account");
  EXPECT_EQ(error_of([&] { return database_.prefetch({{table, {1}}}), 0; }, "account"),
            ErrorCode::not_found);
  Transaction transaction = database_.begin();
  transaction.create_table(key_value_table("own")).require();
  database_.prefetch({{transaction.table("own"), Key::encoded("key")}});
  const test::TemporaryDirectory elsewhere;
  Database another = Database::open(elsewhere.path(), small());
  const Table foreign = another.create_table(accounts());
  EXPECT_EQ(error_of([&] { return database_.prefetch({{foreign, {1}}}), 0; }, "another database"),
            ErrorCode::invalid_argument);
}

TEST_F(ApiDatabaseTest, TransfersBesideDefinitionsKeepTheirSum) {
  const Table table = database_.create_table(accounts());
  constexpr std::int64_t kAccounts = 50;
  for (std::int64_t id = 0; id < kAccounts; ++id) {
    const std::string owner = fmt::format("owner {}", id % 5);
    table.insert({id, owner, 100}).require();
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Random random(static_cast<std::uint64_t>(i));
      while (!stop.load()) {
        database_.run(
            [&](Transaction& in) {
              const auto from = static_cast<std::int64_t>(random.below(kAccounts));
              const auto to = static_cast<std::int64_t>(random.below(kAccounts));
              const std::string owner = fmt::format("owner {}", random.below(5));
              table.update(in, {from}, {{"owner", owner}}).require();
              const auto now = (*table.get(in, {from}))["balance"].as_integer();
              table.update(in, {from}, {{"balance", now - 1}}).require();
              const auto column = table.column<std::int64_t>("balance");
              table.modify(in, {to}, [&](RowEditor& r) { r.set(column, r.get(column) + 1); })
                  .require();
            },
            {.attempts_max = 1'000'000});
      }
    });
  }
  for (test::Rounds rounds(3, 2); rounds.next();) {
    try {
      database_.create_index("account", kByOwner);
      database_.drop_index("account", "by_owner");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::conflict);
      if (!table.indexes().empty()) {
        database_.run([](Transaction& in) { in.drop_index("account", "by_owner").require(); });
      }
    }
  }
  stop.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  database_.create_index("account", kByOwner);
  std::int64_t sum = 0;
  for (Cursor cursor = table.index("by_owner").cursor(); cursor.valid(); cursor.next()) {
    sum += cursor.row()["balance"].as_integer();
  }
  EXPECT_EQ(sum, kAccounts * 100);
}

TEST_F(ApiDatabaseTest, BulksFillTablesAndChangeThem) {
  const Table table = database_.create_table(accounts());
  Transaction bulk = database_.begin({.bulk = true});
  table.insert(bulk, {1, "Ada", 10}).require();
  bulk.create_table({.name = "made", .columns = {{"id", int64()}}, .key = {"id"}}).require();
  bulk.table("made").insert(bulk, {1}).require();
  table.insert_many(bulk, {}).require();
  EXPECT_TRUE(table.get(bulk, {1}));
  EXPECT_FALSE(table.get({1}));
  EXPECT_TRUE(table.insert({2, "Bob", 1}).is_conflict());
  EXPECT_EQ(error_of([&] { return bulk.drop_table("account"); }), ErrorCode::invalid_argument);
  bulk.commit();
  EXPECT_EQ(balance(1), 10);
  EXPECT_TRUE(database_.table("made").get({1}));
  Transaction reader = database_.begin({.read_only = true});
  Transaction second = database_.begin({.bulk = true});
  table.insert(second, {2, "Bob", 1}).require();
  table.update(second, {1}, {{"balance", 11}}).require();
  EXPECT_EQ(table.get(second, {1}).value()["balance"].as_integer(), 11);
  EXPECT_EQ(balance(1), 10);
  EXPECT_FALSE(table.get({2}));
  second.commit();
  EXPECT_EQ(balance(1), 11);
  EXPECT_EQ(table.get(reader, {1}).value()["balance"].as_integer(), 10);
  table.update({2}, {{"balance", 2}}).require();
  Transaction third = database_.begin({.bulk = true});
  EXPECT_EQ(
      error_of([&] { return third.create_index("account", {.name = "i", .columns = {"owner"}}); }),
      ErrorCode::gate_timeout);
  third.rollback();
  reader.commit();
  EXPECT_EQ(error_of([&] { return database_.begin({.read_only = true, .bulk = true}); }),
            ErrorCode::invalid_argument);
  reopen();
  EXPECT_EQ(balance(1), 11);
  EXPECT_EQ(balance(2), 2);
}

// A bulk appends ascending rows later; its own reads see them at once.
TEST_F(ApiDatabaseTest, BulksSeeAscendingRowsAtOnce) {
  const Table table = database_.create_table(accounts());
  Transaction bulk = database_.begin({.bulk = true});
  int id = 0;
  const auto add = [&] {
    for (int rows = 0; rows < 50; ++rows) {
      table.insert(bulk, {id++, "Ada", 10}).require();
    }
  };
  const auto count = [&] {
    int rows = 0;
    table.visit(bulk, Range::all(), [&](const RowView&) {
      ++rows;
      return true;
    });
    return rows;
  };
  add();
  EXPECT_TRUE(table.get(bulk, {id - 1}));
  add();
  EXPECT_EQ(count(), id);
  {
    Cursor cursor = table.cursor(bulk);
    add();
    cursor.seek_last();
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.row()["id"].as_integer(), id - 1);
  }
  add();
  table.update(bulk, {id - 1}, {{"balance", 7}}).require();
  add();
  EXPECT_EQ(table.insert(bulk, {id - 1, "Bob", 1}).kind(), OutcomeKind::exists);
  add();
  bulk.commit();
  reopen();
  EXPECT_EQ(balance(199), 7);
  EXPECT_EQ(balance(id - 1), 10);
}

TEST_F(ApiDatabaseTest, WithoutVersionsOneTransactionAtATimeIsWhatItIsWith) {
  database_.create_table(accounts());
  Options measured = small();
  measured.experimental.versions = false;
  reopen(measured);
  const Table table = database_.table("account");
  table.insert({1, "Ada", 10}).require();
  Transaction kept = database_.begin();
  table.update(kept, {1}, {{"balance", 11}}).require();
  table.insert(kept, {2, "Bob", 5}).require();
  EXPECT_EQ((*table.get(kept, {1}))["balance"].as_integer(), 11);
  EXPECT_EQ(error_of([&] { return database_.begin().is_active(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(database_.statistics().version_bytes, 0U);
  kept.commit();
  Transaction undone = database_.begin();
  table.erase(undone, {1}).require();
  EXPECT_FALSE(table.get(undone, {1}).has_value());
  undone.rollback();
  EXPECT_EQ(balance(1) + balance(2), 16);
}

}  // namespace
}  // namespace palimpsest
