// Bulks: what other transactions see of them and when, what they take, and crashes at any time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/api/bulk_rows.h"
#include "engine/table/table_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using txn::Durability;
using txn::Isolation;

TableSchema people(const std::string& name) {
  return {.name = name,
          .columns = {{"id", int32()}, {"name", varchar(100)}, {"age", int32()}},
          .key = {"id"}};
}
const IndexSchema kByName{.name = "by_name", .columns = {"name"}, .unique = true};

EngineOptions options() {
  EngineOptions options = small_options();
  options.definition_patience = std::chrono::milliseconds(20);
  options.memory_bytes = std::uint64_t{16} << 20U;  // roots of trees stay in memory
  return options;
}

/// A transaction and its bulk.
struct InBulk {
  explicit InBulk(Engine& database, Isolation isolation = Isolation::snapshot)
      : in(database.begin(Durability::synchronous, isolation)),
        bulk(std::make_unique<Bulk>(database.transactions(), database.tables(), *in)) {}

  void commit() {
    bulk->publish();
    in->commit();
  }

  txn::TransactionPtr in;
  std::unique_ptr<Bulk> bulk;
};

std::string name_of(int id) {
  return fmt::format("name {:06}", id);
}

Outcome insert(Bulk& bulk, const TablePtr& table, int id) {
  const std::string name = name_of(id);
  return bulk.write(*table,
                    [&](const TableWriter& writes) { return writes.insert({id, name, id}); });
}

/// Rows that a transaction, null for none, sees.
int rows_seen(const TablePtr& table, txn::Transaction* by) {
  int count = 0;
  const auto visit = [&](const RowView&) {
    ++count;
    return true;
  };
  TableReader(by, *table).visit(Range::all(), visit, Direction::forward);
  return count;
}

class BulkTest : public ::testing::Test {
 protected:
  BulkTest() { open(); }

  void open(bool with_background = false) {
    database_.reset();
    device_ = disk_.device();
    EngineOptions chosen = options();
    chosen.background_threads = with_background;
    database_ = Engine::open(*device_, *device_, chosen);
  }
  void crash() {
    lose_power(disk_, database_);
    open();
  }
  [[nodiscard]] TablePtr make(const std::string& name, bool with_index = true) {
    const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
    EXPECT_TRUE(database_->tables().create_table(*by, people(name)));
    EXPECT_TRUE(!with_index || database_->tables().create_index(*by, name, kByName));
    by->commit();
    return table(name);
  }
  [[nodiscard]] TablePtr table(const std::string& name) {
    return database_->tables().find(name, nullptr);
  }
  [[nodiscard]] txn::TransactionPtr begin(Isolation isolation = Isolation::snapshot) {
    return database_->begin(Durability::asynchronous, isolation);
  }
  static void fill(Bulk& bulk, const TablePtr& table, int rows) {
    for (int id = 0; id < rows; ++id) {
      ASSERT_TRUE(insert(bulk, table, id));
    }
  }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(BulkTest, CountsForSnapshotsFromItsCommitOn) {
  const TablePtr people = make("people");
  const auto old_reader = begin();
  EXPECT_EQ(rows_seen(people, old_reader.get()), 0);
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 500);
  const auto reader = begin();
  const auto newest = begin(Isolation::none);
  EXPECT_EQ(rows_seen(people, bulk.in.get()), 500);
  EXPECT_EQ(rows_seen(people, reader.get()), 0);
  EXPECT_EQ(rows_seen(people, newest.get()), 0);
  EXPECT_EQ(rows_seen(people, nullptr), 0);
  bulk.commit();
  EXPECT_EQ(rows_seen(people, old_reader.get()), 0);
  EXPECT_EQ(rows_seen(people, reader.get()), 0);
  EXPECT_EQ(rows_seen(people, newest.get()), 500);
  EXPECT_EQ(rows_seen(people, begin().get()), 500);
  EXPECT_EQ(rows_seen(people, nullptr), 500);
  // The first updater wins, also if it was a bulk.
  EXPECT_TRUE(RowStatements(*reader, *people).insert({1000, "x", 1}).is_conflict());
  EXPECT_TRUE(RowStatements(*reader, *people).erase({1}).is_conflict());
  EXPECT_TRUE(RowStatements(*newest, *people).insert({1000, "x", 1}));
}

TEST_F(BulkTest, SurvivesACrashOnceItHasCommitted) {
  const TablePtr people = make("people");
  {
    InBulk bulk(*database_);
    fill(*bulk.bulk, people, 500);
    bulk.commit();
  }
  crash();
  EXPECT_EQ(rows_seen(table("people"), nullptr), 500);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkTest, ReadersByAnIndexSeeWhatTheirSnapshotHas) {
  const TablePtr people = make("people");
  const auto old_reader = begin();
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 100);
  bulk.commit();
  const auto finds = [&](txn::Transaction* by) {
    const std::string name = name_of(7);
    return TableReader(by, *people).read_by_index("by_name", {name}, [](auto&) {});
  };
  EXPECT_FALSE(finds(old_reader.get()));
  EXPECT_TRUE(finds(begin().get()));
}

TEST_F(BulkTest, RolledBackItHasNeverBeen) {
  const TablePtr people = make("people");
  {
    InBulk bulk(*database_);
    fill(*bulk.bulk, people, 300);
    EXPECT_TRUE(bulk.bulk->create_table(engine::test::people("made")));
    bulk.bulk->publish();  // as a commit does that fails then
    EXPECT_EQ(rows_seen(people, nullptr), 0);
    bulk.in->rollback();
  }
  EXPECT_EQ(rows_seen(people, nullptr), 0);
  EXPECT_EQ(table("made"), nullptr);
  const auto writer = begin();
  EXPECT_TRUE(RowStatements(*writer, *people).insert({1, "Ada", 1}));
  writer->commit();
  while (database_->tree_pool().step()) {
    make_log_space();
  }
  EXPECT_EQ(rows_seen(people, nullptr), 1);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkTest, AnyNumberOfRowsTakesNeitherLogNorVersions) {
  const TablePtr people = make("people");
  InBulk bulk(*database_);
  const std::uint64_t begun = database_->log().end_position();
  const std::uint64_t versions = database_->transactions().version_bytes();
  int id = 0;
  while (database_->log().end_position() - begun < 4 * options().log_bytes_max) {
    ASSERT_TRUE(insert(*bulk.bulk, people, id++));
    make_log_space();
    ASSERT_LE(database_->transactions().version_bytes(), versions);
  }
  bulk.commit();
  EXPECT_EQ(rows_seen(people, nullptr), id);
}

TEST_F(BulkTest, ChangesItsOwnRowsAndWhatIsRefusedLeavesNoTrace) {
  InBulk bulk(*database_, Isolation::read_committed);
  ASSERT_TRUE(bulk.bulk->create_table(people("made")));
  EXPECT_EQ(bulk.bulk->create_table(people("made")).kind(), OutcomeKind::exists);
  ASSERT_TRUE(bulk.bulk->create_index("made", kByName));
  const TablePtr made = database_->tables().find("made", bulk.in.get());
  EXPECT_EQ(table("made"), nullptr);
  fill(*bulk.bulk, made, 50);
  EXPECT_EQ(insert(*bulk.bulk, made, 7).kind(), OutcomeKind::exists);
  const auto write = [&](auto&& call) { return bulk.bulk->write(*made, call); };
  EXPECT_EQ(
      write([](const TableWriter& writes) { return writes.insert({70, "name 000007", 7}); }).kind(),
      OutcomeKind::exists);
  EXPECT_TRUE(write([](const TableWriter& writes) { return writes.erase({8}); }));
  EXPECT_TRUE(write([](const TableWriter& writes) { return writes.update({9}, {{"age", 90}}); }));
  const std::string long_name(200, 'x');
  EXPECT_EQ(error_of([&] {
              return write([&](const auto& by) { return by.insert({71, long_name, 7}); });
            }),
            ErrorCode::invalid_argument);
  bulk.commit();
  EXPECT_EQ(rows_seen(table("made"), nullptr), 49);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkTest, RefusesTablesOfOtherDatabases) {
  const TablePtr people = make("people");
  const TablePtr others = make("others");
  InBulk bulk(*database_);
  const auto next = begin();
  EXPECT_TRUE(RowStatements(*next, *people).insert({2, "Bob", 1}));
  EXPECT_TRUE(insert(*bulk.bulk, others, 1).is_conflict()) << "another transaction writes";
  next->commit();
  EXPECT_TRUE(insert(*bulk.bulk, others, 1));
  InBulk second(*database_);
  EXPECT_TRUE(insert(*second.bulk, others, 1).is_conflict()) << "another bulk has it";
  const auto late = begin();
  EXPECT_TRUE(RowStatements(*late, *others).insert({1, "Ada", 1}).is_conflict());
  bulk.commit();
  EXPECT_EQ(rows_seen(others, nullptr), 1);
}

TEST_F(BulkTest, ASnapshotThatDoesNotSeeThatATableWasEmptiedIsInConflict) {
  const TablePtr people = make("people");
  auto writer = begin();
  ASSERT_TRUE(RowStatements(*writer, *people).insert({1, "Ada", 1}));
  writer->commit();
  InBulk before(*database_);
  writer = begin();
  ASSERT_TRUE(RowStatements(*writer, *people).erase({1}));
  writer->commit();
  EXPECT_TRUE(insert(*before.bulk, people, 2).is_conflict());
  InBulk behind(*database_);
  EXPECT_EQ(rows_seen(people, before.in.get()), 1);
  EXPECT_TRUE(insert(*behind.bulk, people, 2));
  behind.commit();
  EXPECT_EQ(rows_seen(people, before.in.get()), 1);
  EXPECT_EQ(rows_seen(people, nullptr), 1);
}

// A transaction that has tried to change a definition in vain still sees its snapshot's state.
TEST_F(BulkTest, ADefinerSeesFilledTablesAsItsSnapshotDoes) {
  const TablePtr people = make("people");
  const auto reader = begin();
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 10);
  bulk.commit();
  EXPECT_FALSE(database_->tables().drop_index(*reader, "people", "nosuch"));
  EXPECT_EQ(rows_seen(people, reader.get()), 0);
  EXPECT_TRUE(RowStatements(*reader, *people).erase({1}).is_conflict());
  EXPECT_TRUE(database_->tables()
                  .create_index(*reader, "people", {.name = "x", .columns = {"age"}})
                  .is_conflict());
  reader->rollback();
  EXPECT_EQ(rows_seen(people, nullptr), 10);
}

// No checkpoint has run since it began, and the log is full when it is about to commit.
TEST_F(BulkTest, CommitsWithAFullLog) {
  open(true);
  const TablePtr people = make("people");
  InBulk bulk(*database_, Isolation::read_committed);
  int id = 0;
  while (database_->log().end_position() < 3 * options().log_bytes_max) {
    ASSERT_TRUE(insert(*bulk.bulk, people, id++));
  }
  bulk.commit();
  EXPECT_EQ(rows_seen(people, nullptr), id);
}

// Bulks of different tables are independent, in whatever order and way they end.
TEST_F(BulkTest, TwoAtOnceOfDifferentTables) {
  const std::array tables{make("people"), make("others")};
  for (const bool first_commits : {true, false}) {
    const auto old_reader = begin();
    const std::array before{rows_seen(tables[0], old_reader.get()),
                            rows_seen(tables[1], old_reader.get())};
    InBulk first(*database_);
    InBulk second(*database_);
    const int begin_id = first_commits ? 0 : 1000;
    for (int id = begin_id; id < begin_id + 300; ++id) {  // by turns
      ASSERT_TRUE(insert(*first.bulk, tables[0], id));
      ASSERT_TRUE(insert(*second.bulk, tables[1], id));
      if (id % 3 == 0) {
        ASSERT_TRUE(first.bulk->write(
            *tables[0], [&](const TableWriter& writes) { return writes.erase({id}); }));
      }
    }
    EXPECT_EQ(rows_seen(tables[0], first.in.get()), before[0] + 200);
    EXPECT_EQ(rows_seen(tables[1], first.in.get()), before[1]);
    EXPECT_EQ(rows_seen(tables[1], second.in.get()), before[1] + 300);
    EXPECT_TRUE(insert(*second.bulk, tables[0], 5000).is_conflict());
    second.commit();
    EXPECT_EQ(rows_seen(tables[0], begin().get()), before[0]);
    EXPECT_EQ(rows_seen(tables[1], begin().get()), before[1] + 300);
    ASSERT_TRUE(insert(*first.bulk, tables[0], 6000 + begin_id));
    first_commits ? first.commit() : first.in->rollback();
    EXPECT_EQ(rows_seen(tables[0], begin().get()), before[0] + (first_commits ? 201 : 0));
    EXPECT_EQ(rows_seen(tables[0], old_reader.get()), before[0]);
    EXPECT_EQ(rows_seen(tables[1], old_reader.get()), before[1]);
  }
  crash();
  EXPECT_EQ(rows_seen(table("people"), nullptr), 201);
  EXPECT_EQ(rows_seen(table("others"), nullptr), 600);
}

// Each thread has a table and fills and empties it in bulks, with the engine's own threads: a
// reader always sees a whole number of fillings of a table.
TEST_F(BulkTest, ManyAtOnceOfDifferentTablesByThreads) {
  open(true);
  constexpr int kThreads = 4;
  constexpr int kRounds = 15;
  constexpr int kRowsEach = 100;
  std::vector<TablePtr> tables;
  tables.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    tables.push_back(make(fmt::format("t{}", i)));
  }
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends.load()) {
      const auto by = begin();
      for (const TablePtr& table : tables) {
        EXPECT_EQ(rows_seen(table, by.get()) % kRowsEach, 0);
      }
    }
  });
  std::vector<std::thread> fillers;
  fillers.reserve(kThreads);
  std::array<int, kThreads> rows{};
  for (int i = 0; i < kThreads; ++i) {
    fillers.emplace_back([&, i] {
      const auto number = static_cast<std::size_t>(i);
      for (int round = 0; round < kRounds; ++round) {
        InBulk bulk(*database_);
        bool is_done = true;
        const auto code = error_of([&] {
          for (int id = 0; is_done && id < kRowsEach; ++id) {
            is_done = insert(*bulk.bulk, tables[number], round * kRowsEach + id).is_done();
          }
        });
        if (code || !is_done) {  // a snapshot that does not see the last one stays too long
          EXPECT_EQ(code.value_or(ErrorCode::gate_timeout), ErrorCode::gate_timeout);
          bulk.in->rollback();
          --round;  // once more
        } else if ((round + i) % 3 == 0) {
          bulk.in->rollback();
        } else {
          bulk.commit();
          rows.at(number) += kRowsEach;
        }
      }
    });
  }
  for (std::thread& filler : fillers) {
    filler.join();
  }
  ends = true;
  reader.join();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(rows_seen(tables[i], begin().get()), rows.at(i));
    EXPECT_EQ(rows.at(i), kRounds / 3 * 2 * kRowsEach);
  }
}

TEST_F(BulkTest, IsInConflictAtOnceWithDefinitionsItDoesNotSee) {
  InBulk bulk(*database_);
  const TablePtr people = make("people");
  EXPECT_TRUE(insert(*bulk.bulk, people, 1).is_conflict());
  const auto dropper = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*dropper, "people"));
  dropper->commit();
  EXPECT_EQ(error_of([&] { return insert(*bulk.bulk, people, 1); }), ErrorCode::not_found);
  static_cast<void>(make("people"));
  InBulk later(*database_);
  EXPECT_EQ(error_of([&] { return insert(*later.bulk, people, 1); }), ErrorCode::not_found);
}

// After it has published its tables, it accepts no further changes.
TEST_F(BulkTest, WhoseCommitFailsHalfWayChangesNothingMore) {
  const TablePtr filled = make("filled");
  const TablePtr empty = make("empty");
  InBulk bulk(*database_);
  ASSERT_TRUE(insert(*bulk.bulk, filled, 1));
  bulk.bulk->publish();
  const std::vector<std::function<Outcome()>> calls{
      [&] { return insert(*bulk.bulk, filled, 2); },
      [&] { return insert(*bulk.bulk, empty, 2); },
      [&] { return bulk.bulk->create_table(people("more")); },
      [&] { return bulk.bulk->create_index("filled", {.name = "again", .columns = {"name"}}); },
  };
  for (const auto& call : calls) {
    EXPECT_EQ(error_of(call, "committed again or rolled back"), ErrorCode::failed);
  }
  bulk.commit();
  EXPECT_EQ(rows_seen(filled, nullptr), 1);
  EXPECT_EQ(rows_seen(empty, nullptr), 0);
  EXPECT_TRUE(sound(*database_));
}

// Dropping a table also frees the trees that older snapshots saw.
TEST_F(BulkTest, AllTreesOfADroppedTableComeBack) {
  const TablePtr people = make("people");
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 100);
  bulk.commit();
  const auto dropper = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*dropper, "people"));
  dropper->commit();
  EXPECT_EQ(database_->tree_pool().waiting(), 4U);
}

#ifdef PALIMPSEST_SYNC_POINTS

// Between the date and the decision a snapshot that is to see the rows waits; it never first finds
// none.
TEST_F(BulkTest, ReadersWaitWhileItIsDecided) {
  const TablePtr people = make("people");
  const auto old_reader = begin();
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 10);
  SyncBarrier dated("txn.commit.dated");
  std::thread committer([&] { bulk.commit(); });
  dated.wait_until_reached();
  const auto reader = begin();
  EXPECT_EQ(rows_seen(people, old_reader.get()), 0);
  std::atomic<int> seen{-1};
  std::atomic<bool> waits{false};
  const SyncHook undecided("engine.definition.undecided", [&] { waits = true; });
  std::thread looker([&] { seen = rows_seen(people, reader.get()); });
  EXPECT_TRUE(palimpsest::test::eventually([&] { return waits.load(); }));
  EXPECT_EQ(seen.load(), -1);
  dated.release();
  committer.join();
  looker.join();
  EXPECT_EQ(seen.load(), 10);
  EXPECT_EQ(rows_seen(people, reader.get()), 10);
}

// However long ago it has begun, it holds back only the log that it writes at the end.
TEST_F(BulkTest, HoldsNoLogOfTheTimeBeforeItsCommit) {
  const TablePtr people = make("people");
  const TablePtr others = make("others");
  InBulk bulk(*database_);
  fill(*bulk.bulk, people, 10);
  for (int i = 0; i < 10; ++i) {
    const auto other = begin();
    const std::string name = name_of(i);
    ASSERT_TRUE(RowStatements(*other, *others).insert({i, name, i}));
    other->commit();
  }
  const Gsn before = database_->transactions().now();
  Gsn oldest{0};
  {
    const SyncHook appended("wal.append.published", [&] {
      oldest = raw(oldest) == 0 ? database_->transactions().oldest() : oldest;
    });
    bulk.commit();
    EXPECT_GT(appended.hits(), 0U);
  }
  EXPECT_GE(raw(oldest), raw(before));
}

// A crash at every write and sync, and at the steps of the commit.
TEST_F(BulkTest, ACrashLeavesAllOfItOrNothing) {
  static_cast<void>(make("people"));
  static_cast<void>(make("others"));
  palimpsest::test::CrashImages crashes(disk_);
  {
    const SyncHook drawn("txn.commit.dated", [&] { crashes.take(); });
    InBulk bulk(*database_);
    for (int id = 0; id < 200; ++id) {
      ASSERT_TRUE(insert(*bulk.bulk, table("people"), id));
      ASSERT_TRUE(insert(*bulk.bulk, table("others"), id));
      if (id % 20 == 0) {
        database_->checkpointer().run();
        crashes.take();
      }
    }
    crashes.take_at_operations();
    bulk.commit();
    EXPECT_GT(drawn.hits(), 0U);
  }
  crashes.set_committed();
  crashes.take();
  const auto images = crashes.end();
  std::size_t whole = 0;
  for (const auto& [disk, is_committed] : images) {
    const auto device = disk.device();
    const auto database = Engine::open(*device, *device, options());
    const int people = rows_seen(database->tables().find("people", nullptr), nullptr);
    const int others = rows_seen(database->tables().find("others", nullptr), nullptr);
    EXPECT_EQ(people, others);
    EXPECT_TRUE(people == 200 || (people == 0 && !is_committed)) << people;
    whole += people == 200 ? 1U : 0U;
    while (database->tree_pool().step()) {
      while (database->checkpointer().step()) {
      }
    }
    EXPECT_TRUE(sound(*database));
  }
  EXPECT_GT(whole, 0U);
  EXPECT_LT(whole, images.size());
}

#endif

// Bulks of two tables, one after the other, beside readers: each reader sees both tables filled or
// none, all the time.
TEST_F(BulkTest, ReadersSeeOneMoment) {
  std::atomic<bool> ends{false};
  std::atomic<int> round{0};
  std::atomic<std::uint64_t> looks{0};
  static_cast<void>(make("a0", false));
  static_cast<void>(make("b0", false));
  constexpr int kReaders = 3;
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!ends.load()) {
        const int now = round.load();
        const TablePtr a = table(fmt::format("a{}", now));
        const TablePtr b = table(fmt::format("b{}", now));
        const auto reader = begin();
        const auto first = rows_seen(a, reader.get());
        for (int again = 0; again < 4; ++again) {
          EXPECT_EQ(rows_seen(b, reader.get()), first);
          EXPECT_EQ(rows_seen(a, reader.get()), first);
        }
        reader->commit();
        ++looks;
      }
    });
  }
  constexpr std::uint64_t kLooks = 20;  // readers may get no time while the first bulks run
  for (int number = 0; number < 60 || looks.load() < kLooks; ++number) {
    const TablePtr a = table(fmt::format("a{}", number));
    const TablePtr b = table(fmt::format("b{}", number));
    InBulk bulk(*database_, Isolation::read_committed);
    for (int id = 0; id < 5; ++id) {
      while (!insert(*bulk.bulk, a, id)) {
      }
      while (!insert(*bulk.bulk, b, id)) {
      }
    }
    bulk.commit();
    static_cast<void>(make(fmt::format("a{}", number + 1), false));
    static_cast<void>(make(fmt::format("b{}", number + 1), false));
    round = number + 1;
    make_log_space();
  }
  ends = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
}

}  // namespace
}  // namespace palimpsest::engine::test
