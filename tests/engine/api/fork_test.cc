// fork() with a database open: in the child every call of the public API is refused, destructors do
// nothing, and nothing that the child does, or leaves undone, harms the parent and its files.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/compaction.h"
#include "palimpsest/database.h"
#include "palimpsest/row_encoder.h"
#include "palimpsest/row_sort.h"
#include "palimpsest/row_writer.h"
#include "palimpsest/table_of.h"

#include "tests/support/child_process.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/killed_process.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using test::run_in_child;

struct Account {
  std::int64_t id = 0;
  std::int64_t balance = 0;
  std::string owner;
};

TableSchema accounts() {
  return {.name = "account",
          .columns = {{"id", int64()}, {"balance", int64()}, {"owner", varchar(20'000)}},
          .key = {"id"}};
}

Options options() {
  return {.memory_bytes = std::uint64_t{16} << 20U};
}

/// Expectations in a child, where no test can fail: counts and prints the failed ones.
class Expectations {
 public:
  void expect(bool holds, std::string_view what) {
    if (!holds) {
      std::fprintf(stderr, "in the child, %.*s\n", static_cast<int>(what.size()), what.data());
      ++failed_;
    }
  }
  template <class Call>
  void expect_refused(std::string_view what, const Call& call) {
    std::string message;
    const auto code = error_of([&] { return static_cast<void>(call()), 0; }, &message);
    expect(
        code == ErrorCode::invalid_argument &&
            message.find("opened the database, and this process is its child") != std::string::npos,
        std::string(what) + " is not refused: " + message);
  }
  [[nodiscard]] int failed() const noexcept { return failed_; }

 private:
  int failed_ = 0;
};

/// A database and one object of every type of the API.
struct Everything {
  explicit Everything(const std::string& directory)
      : database(Database::open(directory, options())) {
    table = database.create_table(accounts());
    for (std::int64_t id = 0; id < 100; ++id) {
      const std::string owner(id % 2 == 0 ? 10 : 9'000, 'x');
      table->insert({id, id, owner}).require();
    }
    database.create_index("account", {.name = "by_balance", .columns = {"balance"}});
    index = table->index("by_balance");
    structs = TableOf<Account>(
        *table, {{"id", &Account::id}, {"balance", &Account::balance}, {"owner", &Account::owner}});
    transaction = database.begin();
    table->insert(*transaction, {1'000, 7, "of a transaction"}).require();
    bulk = database.begin({.bulk = true});
    cursor = table->cursor(*transaction);
    index_cursor = index->cursor();
    encoder.emplace(*table);
    sort.emplace(*table);
    for (std::int64_t id = 2'000; id < 2'100; ++id) {
      sort->add((*encoder)({id, 0, "sorted"}));
    }
  }

  Database database;
  std::optional<Table> table;
  std::optional<Index> index;
  std::optional<TableOf<Account>> structs;
  std::optional<Transaction> transaction;
  std::optional<Transaction> bulk;
  std::optional<Cursor> cursor;
  std::optional<Cursor> index_cursor;
  std::optional<RowEncoder> encoder;
  std::optional<RowSort> sort;
};

void expect_database_refused(Everything& all, Expectations& in_child, const std::string& other) {
  const Database& database = all.database;
  const auto refused = [&](std::string_view what, const auto& call) {
    in_child.expect_refused(what, call);
  };
  refused("begin", [&] { return all.database.begin(); });
  refused("run", [&] { return all.database.run([](Transaction&) {}); });
  refused("table", [&] { return database.table("account"); });
  refused("find_table", [&] { return database.find_table("account"); });
  refused("tables", [&] { return database.tables(); });
  refused("prefetch", [&] { return database.prefetch({Place(*all.table, {1})}); });
  refused("create_table", [&] { return all.database.create_table(accounts()); });
  refused("find_or_create_table", [&] { return all.database.find_or_create_table(accounts()); });
  refused("drop_table", [&] { return all.database.drop_table("account"); });
  refused("create_index", [&] {
    all.database.create_index("account", {.name = "by_owner", .columns = {"owner"}});
  });
  refused("drop_index", [&] { return all.database.drop_index("account", "by_balance"); });
  refused("backup", [&] { return database.backup(other); });
  refused("compact", [&] { return all.database.compact(); });
  refused("statistics", [&] { return database.statistics(); });
  refused("options", [&] { return database.options(); });
  refused("close", [&] { return all.database.close(); });
}

void expect_reads_refused(const Everything& all, Expectations& in_child) {
  const Table& table = *all.table;
  const auto refused = [&](std::string_view what, const auto& call) {
    in_child.expect_refused(what, call);
  };
  const std::vector<Key> keys{{1}, {2}};
  refused("schema", [&] { return table.schema(); });
  refused("indexes", [&] { return table.indexes(); });
  refused("index", [&] { return table.index("by_balance"); });
  refused("column", [&] { return table.column<std::int64_t>("balance"); });
  refused("get", [&] { return table.get({1}); });
  refused("get in a transaction", [&] { return table.get(*all.transaction, {1}); });
  refused("read", [&] { return table.read({1}, [](const RowView&) {}); });
  refused("read_many", [&] { return table.read_many(keys, [](std::size_t, const RowView&) {}); });
  refused("visit_many", [&] { return table.visit_many(keys, [](std::size_t, const RowView&) {}); });
  refused("visit", [&] { table.visit(Range::all(), [](const RowView&) { return true; }); });
  refused("count", [&] { return table.count(); });
  refused("count in a transaction", [&] { return table.count(*all.transaction); });
  refused("approximate_size", [&] { return table.approximate_size(); });
  refused("cursor", [&] { return table.cursor(); });
  refused("schema of an index", [&] { return all.index->schema(); });
  refused("get by an index", [&] { return all.index->get({1}); });
  refused("cursor of an index", [&] { return all.index->cursor(); });
  refused("get of a struct", [&] { return all.structs->get({1}); });
}

void expect_writes_refused(Everything& all, Expectations& in_child) {
  const Table& table = *all.table;
  Transaction& in = *all.transaction;
  const auto refused = [&](std::string_view what, const auto& call) {
    in_child.expect_refused(what, call);
  };
  const std::vector<Key> keys{{1}, {2}};
  const std::array<Value, 3> columns{5'000, 1, "of a child"};
  const Values row(columns);
  const EncodedRow encoded = EncodedRow::of("k", "v");
  refused("insert", [&] { return table.insert(row); });
  refused("insert in a transaction", [&] { return table.insert(in, row); });
  refused("insert in a bulk", [&] { return table.insert(*all.bulk, row); });
  refused("insert of an encoded row", [&] { return table.insert(encoded); });
  refused("insert_many", [&] { return table.insert_many({&encoded, 1}); });
  refused("upsert", [&] { return table.upsert(row); });
  refused("update", [&] { return table.update({1}, {{"balance", 9}}); });
  refused("modify", [&] { return table.modify({1}, [](RowEditor&) {}); });
  refused("modify_many", [&] { return table.modify_many(keys, [](std::size_t, RowEditor&) {}); });
  refused("rewrite",
          [&] { return table.rewrite({1}, [](const RowView& before) { return before.bytes(); }); });
  refused("erase", [&] { return table.erase({1}); });
  refused("erase_range", [&] { return table.erase_range(Range::all()); });
  refused("erase_range in a transaction", [&] { return table.erase_range(in, Range::all()); });
  refused("insert of a struct",
          [&] { return all.structs->insert({.id = 5'001, .balance = 0, .owner = "x"}); });
}

void expect_transactions_refused(Everything& all, Expectations& in_child) {
  Transaction& in = *all.transaction;
  const auto refused = [&](std::string_view what, const auto& call) {
    in_child.expect_refused(what, call);
  };
  const TableAlteration none{.columns = {}, .renamed = {}};
  refused("commit", [&] { return in.commit(); });
  refused("commit of a bulk", [&] { return all.bulk->commit(); });
  refused("rollback", [&] { return in.rollback(); });
  refused("create_table", [&] { return in.create_table(accounts()); });
  refused("drop_table", [&] { return in.drop_table("account"); });
  refused("create_index", [&] { return in.create_index("account", {}); });
  refused("drop_index", [&] { return in.drop_index("account", "by_balance"); });
  refused("alter_table", [&] { return all.bulk->alter_table("account", none); });
  refused("add_column", [&] { return all.bulk->add_column("account", {"more", int64()}, 0); });
  refused("drop_column", [&] { return all.bulk->drop_column("account", "owner"); });
  refused("rename_column", [&] { return all.bulk->rename_column("account", "owner", "whose"); });
  refused("table", [&] { return in.table("account"); });
  in_child.expect(!in.is_active() && !all.bulk->is_active(), "a transaction is active");
}

void expect_rows_refused(Everything& all, Expectations& in_child) {
  const auto refused = [&](std::string_view what, const auto& call) {
    in_child.expect_refused(what, call);
  };
  for (Cursor* const cursor : {&*all.cursor, &*all.index_cursor}) {
    in_child.expect(!cursor->valid(), "a cursor is valid");
    refused("next", [&] { return cursor->next(); });
    refused("previous", [&] { return cursor->previous(); });
    refused("seek_first", [&] { return cursor->seek_first(); });
    refused("seek_last", [&] { return cursor->seek_last(); });
    refused("seek", [&] { return cursor->seek({1}); });
    refused("seek_at_or_before", [&] { return cursor->seek_at_or_before({1}); });
  }
  refused("RowEncoder()", [&] { return RowEncoder(*all.table); });
  refused("encoding", [&] { return (*all.encoder)({1, 1, "x"}); });
  refused("RowWriter::of()", [&] { return RowWriter::of(*all.table); });
  refused("RowSort()", [&] { return RowSort(*all.table); });
  refused("add", [&] { return all.sort->add(EncodedRow::of("k", "v")); });
  refused("save", [&] { return all.sort->save(); });
  refused("finish", [&] { return all.sort->finish(); });
  refused("next of a sort", [&] { return all.sort->next(); });
  refused("row of a sort", [&] { return all.sort->row(); });
  refused("note of a sort", [&] { return all.sort->note(); });
  in_child.expect(all.sort->row_bytes_max() == 0 && all.sort->file_bytes(1, 1) == 0,
                  "a sort sorts rows");
}

/// In any order; and by assigning other handles to them.
void destroy(std::unique_ptr<Everything>& all) {
  all->cursor = std::nullopt;
  all->transaction = std::nullopt;
  Cursor cursor = std::move(*all->index_cursor);
  RowSort sort = std::move(*all->sort);
  all.reset();
}

class ForkTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.path("database"); }

  test::TemporaryDirectory directory_;
};

TEST_F(ForkTest, EveryCallInAChildIsRefusedAndDestructorsDoNothing) {
  auto all = std::make_unique<Everything>(path());
  ASSERT_EQ(run_in_child([&] {
              Expectations in_child;
              expect_database_refused(*all, in_child, directory_.path("copy"));
              expect_reads_refused(*all, in_child);
              expect_writes_refused(*all, in_child);
              expect_transactions_refused(*all, in_child);
              expect_rows_refused(*all, in_child);
              destroy(all);
              return in_child.failed();
            }),
            0);

  // The database still belongs to the parent alone, and works as before.
  EXPECT_EQ(run_in_child([&] {
              const auto code = error_of([&] { return Database::open(path(), options()); });
              return code == ErrorCode::locked ? 0 : 1;
            }),
            0);
  ASSERT_TRUE(all->cursor->valid());
  all->cursor->next();
  EXPECT_EQ(all->cursor->row()["id"].as_integer(), 1);
  all->sort->finish();
  while (all->sort->next()) {
    all->table->insert(*all->transaction, all->sort->row()).require();
  }
  all->bulk->rollback();
  all->cursor.reset();
  all->index_cursor.reset();
  all->transaction->commit();
  all->sort.reset();
  all->database.close();

  Database database = Database::open(path(), options());
  int rows = 0;
  database.table("account").visit(Range::all(),
                                  [&](const RowView&) { return static_cast<void>(++rows), true; });
  EXPECT_EQ(rows, 100 + 1 + 100);
}

TEST_F(ForkTest, ATransactionsBodyThatForksCommitsInTheParentAlone) {
  Database database = Database::open(path(), options());
  const Table table = database.create_table(accounts());
  bool is_child = false;
  int status = 0;
  try {
    database.run([&](Transaction& in) {
      table.insert(in, {1, 1, "x"}).require();
      const pid_t child = ::fork();
      is_child = child == 0;
      if (!is_child) {
        ::waitpid(child, &status, 0);
      }
    });
  } catch (const Error& error) {
    ::_exit(is_child && error.code() == ErrorCode::invalid_argument ? 0 : 1);
  }
  if (is_child) {
    ::_exit(2);
  }
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(table.get({1}).has_value());
}

/// Sent by a process that is to be killed: acknowledged rows, or that its child has started.
struct Report {
  std::int64_t rows = 0;
};

void report(int pipe, std::int64_t rows) {
  const Report report{rows};
  if (::write(pipe, &report, sizeof report) != sizeof report) {
    ::_exit(1);
  }
}

TEST_F(ForkTest, WhatAChildTriesLeavesTheParentsLogAsItIs) {
  constexpr std::int64_t kRows = 500;
  test::KilledProcess<Report> process([&](int pipe) {
    Database database = Database::open(path(), options());
    const Table table = database.create_table(accounts());
    table.insert({0, 0, "before the fork"}).require();
    const int child = run_in_child([&] {
      int done = 0;
      for (std::int64_t id = 10'000; id < 10'000 + kRows; ++id) {
        const auto code = error_of([&] { return table.insert({id, id, "of a child"}); });
        done += code == ErrorCode::invalid_argument ? 0 : 1;
      }
      return done == 0 ? 0 : 1;
    });
    if (child != 0) {
      return 1;
    }
    const std::string owner(1'000, 'p');
    for (std::int64_t id = 1; id < kRows; ++id) {
      table.insert({id, id, owner}).require();
    }
    report(pipe, kRows);
    ::pause();
    return 0;
  });
  const auto reported = process.read(std::chrono::steady_clock::now() + std::chrono::minutes(1));
  process.kill();
  ASSERT_TRUE(reported.has_value()) << "exit status " << process.wait();
  static_cast<void>(process.wait());
  Database database = Database::open(path(), options());
  std::int64_t rows = 0;
  database.table("account").visit(Range::all(), [&](const RowView& row) {
    EXPECT_EQ(row["id"].as_integer(), rows);
    return static_cast<void>(++rows), true;
  });
  EXPECT_EQ(rows, reported->rows);
}

/// A child that lives until the pipe's other end is closed, and then ends by ::_exit().
pid_t start_waiting_child(const std::array<int, 2>& ends) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char nothing = 0;
    ::_exit(::read(ends[0], &nothing, 1) == 0 ? 0 : 1);
  }
  return child;
}

TEST_F(ForkTest, AChildThatOutlivesAKilledParentKeepsNoLock) {
  std::array<int, 2> alive{};
  ASSERT_EQ(::pipe(alive.data()), 0);
  {
    test::KilledProcess<Report> process([&](int pipe) {
      Database database = Database::open(path(), options());
      database.create_table(accounts()).insert({1, 1, "x"}).require();
      if (start_waiting_child(alive) < 0) {
        return 1;
      }
      ::close(alive[1]);
      report(pipe, 1);
      ::pause();
      return 0;
    });
    ASSERT_TRUE(process.read(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  }  // killed
  std::optional<Database> database;
  EXPECT_EQ(error_of([&] { return database = Database::open(path(), options()), 0; }),
            std::nullopt);
  EXPECT_TRUE(database && database->table("account").get({1}).has_value());
  ::close(alive[1]);
  ::close(alive[0]);
}

TEST_F(ForkTest, AChildOpensDatabasesOfItsOwn) {
  std::optional<Database> database = Database::open(path(), options());
  database->create_table(accounts()).insert({1, 1, "x"}).require();
  const std::string other = directory_.path("other");
  EXPECT_EQ(run_in_child([&] {
              Database own = Database::open(other, options());
              own.create_table(accounts()).insert({2, 2, "y"}).require();
              Expectations here;
              here.expect_refused("the parent's", [&] { return database->tables(); });
              // A child of the child is refused, too: neither database is its own.
              const int grandchild = run_in_child([&] {
                Expectations in_child;
                in_child.expect_refused("the parent's", [&] { return own.tables(); });
                in_child.expect_refused("the grandparent's", [&] { return database->tables(); });
                return in_child.failed();
              });
              own.close();
              return grandchild + here.failed();
            }),
            0);
  Database of_child = Database::open(other, options());
  EXPECT_TRUE(of_child.table("account").get({2}).has_value());
  database.reset();
  EXPECT_EQ(run_in_child([&] {
              const Database again = Database::open(path(), options());
              return again.table("account").get({1}).has_value() ? 0 : 1;
            }),
            0);
}

TEST_F(ForkTest, ThreadsInTheMiddleOfCallsGoOnWhateverChildrenDo) {
  constexpr std::size_t kThreads = 4;
  constexpr int kForks = 40;
  constexpr std::int64_t kRowsOfAThread = 100'000;
  auto all = std::make_unique<Everything>(path());
  std::atomic<bool> ends{false};
  std::array<std::atomic<std::int64_t>, kThreads> inserted{};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const Table table = *all->table;
      const std::int64_t first = static_cast<std::int64_t>(thread + 1) * kRowsOfAThread;
      for (std::int64_t i = 0; !ends.load(); ++i) {
        const std::string owner(i % 16 == 0 ? 12'000 : 400, 't');  // large values are read, too
        table.insert({first + i, i, owner}).require();
        const auto row = table.get({first + i / 2});
        ASSERT_TRUE(row.has_value());
        ASSERT_EQ((*row)["balance"].as_integer(), i / 2);
        inserted[thread].store(i + 1);
      }
    });
  }
  for (int fork = 0; fork < kForks; ++fork) {
    const std::int64_t before = inserted[0].load();
    ASSERT_TRUE(test::eventually([&] { return inserted[0].load() > before; }));
    EXPECT_EQ(run_in_child([&] {
                Expectations in_child;
                expect_transactions_refused(*all, in_child);
                expect_rows_refused(*all, in_child);
                expect_writes_refused(*all, in_child);
                in_child.expect_refused("close", [&] { return all->database.close(); });
                destroy(all);
                return in_child.failed();
              }),
              0);
  }
  ends.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  all.reset();  // open transactions are rolled back
  const Database database = Database::open(path(), options());
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    const std::int64_t first = static_cast<std::int64_t>(thread + 1) * kRowsOfAThread;
    std::int64_t rows = 0;
    database.table("account").visit(
        Range::between({first}, {first + kRowsOfAThread}), [&](const RowView& row) {
          return static_cast<void>(rows += row["balance"].as_integer() == rows), true;
        });
    EXPECT_EQ(rows, inserted[thread].load());
  }
}

}  // namespace
}  // namespace palimpsest
