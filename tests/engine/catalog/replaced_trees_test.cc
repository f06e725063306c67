// Replaced definitions and their trees: which readers retain them, and when they are freed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/api/bulk_rows.h"
#include "engine/table/row_cursor.h"
#include "engine/table/table_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::CrashImages;
using palimpsest::test::error_of;
using palimpsest::test::eventually;
using palimpsest::test::SimDisk;
using palimpsest::test::SimOptions;
using txn::Durability;
using txn::Isolation;

const TableSchema kPeople{
    .name = "people", .columns = {{"id", int32()}, {"name", varchar(1000)}}, .key = {"id"}};
const IndexSchema kByName{.name = "by_name", .columns = {"name"}, .unique = false};

class ReplacedTreesTest : public ::testing::Test {
 protected:
  ReplacedTreesTest() { open(); }
  void TearDown() override { expect_sound(); }
  void expect_sound() {
    empty_all();
    EXPECT_TRUE(sound(*database_));
  }

  void open(std::uint64_t version_bytes_max = 0,
            std::uint64_t memory_bytes = std::uint64_t{16} << 20U) {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.definition_patience = std::chrono::milliseconds(20);
    options.memory_bytes = memory_bytes;
    options.log_bytes_max = 64 * wal::kSegmentBytesMin;
    options.version_bytes_max = version_bytes_max;
    database_ = Engine::open(*device_, *device_, options);
    if (tables().find("people", nullptr) == nullptr) {
      const auto by = begin(Isolation::read_committed);
      ASSERT_TRUE(tables().create_table(*by, kPeople));
      ASSERT_TRUE(tables().create_index(*by, "people", kByName));
      by->commit();
    }
  }
  [[nodiscard]] TableCatalog& tables() { return database_->tables(); }
  [[nodiscard]] TablePtr table() { return tables().find("people", nullptr); }
  [[nodiscard]] std::size_t waiting() { return database_->tree_pool().waiting(); }
  [[nodiscard]] txn::TransactionPtr begin(Isolation isolation = Isolation::snapshot) {
    return database_->begin(Durability::synchronous, isolation);
  }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }
  void empty_all() {
    while (database_->tree_pool().step()) {
      make_log_space();
    }
  }
  void erase_all() {
    make_log_space();
    const auto by = begin(Isolation::read_committed);
    ASSERT_TRUE(RowStatements(*by, *table()).erase_range(Range::all()).outcome);
    by->commit();
  }
  void load(int rows) {
    make_log_space();
    const auto by = begin(Isolation::read_committed);
    Bulk bulk(database_->transactions(), tables(), *by);
    for (int id = 0; id < rows; ++id) {
      const std::string name = fmt::format("{} of {}", id, rows);
      ASSERT_TRUE(bulk.insert(*table(), {id, name}));
    }
    bulk.publish();
    by->commit();
  }
  /// From now on the table has so many rows, in other trees.
  void replace(int rows) {
    erase_all();
    load(rows);
  }
  /// Moves the same rows to other trees.
  void rewrite() {
    make_log_space();
    const auto by = begin(Isolation::read_committed);
    Bulk bulk(database_->transactions(), tables(), *by);
    const auto same = [](const TableSchema& before) {
      return TableAlteration{.columns = before.columns, .renamed = {}};
    };
    ASSERT_TRUE(bulk.alter_table("people", same, nullptr));
    bulk.publish();
    by->commit();
  }
  [[nodiscard]] int rows_seen(txn::Transaction* by) {
    int count = 0;
    const auto visit = [&](const RowView&) {
      ++count;
      return true;
    };
    TableReader(by, *table()).visit(Range::all(), visit, Direction::forward);
    return count;
  }
  [[nodiscard]] std::size_t trees() { return database_->catalog().entries().size(); }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(ReplacedTreesTest, GoBackAtOnceIfNoSnapshotSeesThem) {
  load(10);
  EXPECT_EQ(waiting(), 2U) << "those of the empty table";
  empty_all();
  rewrite();
  EXPECT_EQ(waiting(), 2U);
}

TEST_F(ReplacedTreesTest, AreUsedAgain) {
  load(10);
  std::size_t most = 0;
  for (int round = 0; round < 200; ++round) {
    rewrite();
    replace(10);
    empty_all();
    most = round == 1 ? trees() : most;
  }
  EXPECT_LE(trees(), most);
  EXPECT_EQ(rows_seen(nullptr), 10);
}

TEST_F(ReplacedTreesTest, StayForTheSnapshotThatSeesThem) {
  load(10);
  empty_all();
  const auto reader = begin();
  for (int round = 0; round < 20; ++round) {
    rewrite();
    EXPECT_EQ(rows_seen(reader.get()), 10);
    empty_all();
  }
  const std::size_t held = trees();
  for (int round = 0; round < 20; ++round) {
    replace(20 + round);
    EXPECT_EQ(rows_seen(reader.get()), 10);
    empty_all();
  }
  EXPECT_LE(trees(), held + 2) << "one reader holds those of one moment";
  EXPECT_NE(tables().held_back().find("2 trees"), std::string::npos) << tables().held_back();
  reader->rollback();
  EXPECT_FALSE(tables().give_back_replaced());
  EXPECT_EQ(waiting(), 2U);
  EXPECT_TRUE(tables().held_back().empty());
}

// Each reader sees the state when it began, even if trees between those of two readers are freed.
TEST_F(ReplacedTreesTest, GoFromTheMiddleToo) {
  std::vector<txn::TransactionPtr> readers;
  for (int rows = 1; rows <= 5; ++rows) {
    replace(rows);
    readers.push_back(begin());
    replace(100 + rows);  // no reader sees these
  }
  const auto expect_each = [&] {
    for (std::size_t number = 0; number < readers.size(); ++number) {
      if (readers[number] != nullptr) {
        EXPECT_EQ(rows_seen(readers[number].get()), static_cast<int>(number) + 1);
      }
    }
    EXPECT_EQ(rows_seen(nullptr), 105);
  };
  empty_all();
  EXPECT_NE(tables().held_back().find("10 trees"), std::string::npos) << tables().held_back();
  for (const std::size_t ends : {2U, 0U, 4U, 1U, 3U}) {
    expect_each();
    readers[ends].reset();
    empty_all();
  }
  expect_each();
  EXPECT_TRUE(tables().held_back().empty());
}

TEST_F(ReplacedTreesTest, AreNotHeldBetweenCalls) {
  load(10);
  const auto reader = begin(Isolation::read_committed);
  EXPECT_EQ(rows_seen(reader.get()), 10);
  empty_all();
  rewrite();
  EXPECT_EQ(waiting(), 2U);
  EXPECT_EQ(rows_seen(reader.get()), 10);
}

// A read-committed reader, which sees the newest rows, has no snapshot.
TEST_F(ReplacedTreesTest, StayForACursorWithoutASnapshot) {
  for (const Isolation isolation : {Isolation::none, Isolation::read_committed}) {
    replace(100);
    empty_all();
    const auto in = begin(isolation);
    std::optional<RowCursor> cursor;
    cursor.emplace(TableReader(in.get(), *table()), Range::all(), 1);
    replace(7);
    for (int round = 0; round < 5; ++round) {
      rewrite();
      empty_all();
    }
    EXPECT_NE(tables().held_back().find("2 trees"), std::string::npos) << tables().held_back();
    // The rows were erased before they were replaced.
    EXPECT_NO_THROW(cursor->next());
    cursor.reset();
    EXPECT_FALSE(tables().give_back_replaced());
    EXPECT_EQ(waiting(), 2U);
    empty_all();
  }
}

TEST_F(ReplacedTreesTest, DoNotStayForASnapshotThatIsCancelled) {
  open(std::uint64_t{1} << 20U);
  constexpr int kMany = 4000;
  load(kMany);
  empty_all();
  const auto reader = begin();
  RowCursor cursor(TableReader(reader.get(), *table()), Range::all(), 1);
  rewrite();
  EXPECT_EQ(waiting(), 0U);
  const std::string name(500, 'x');
  for (int turn = 0; database_->transactions().version_memory().cancelled() == 0; ++turn) {
    ASSERT_LT(turn, kMany);
    make_log_space();
    const auto by = begin();
    ASSERT_TRUE(RowStatements(*by, *table()).update({turn}, {{"name", std::string_view(name)}}));
    by->commit();
  }
  EXPECT_FALSE(tables().give_back_replaced());
  EXPECT_EQ(waiting(), 2U);
  empty_all();
  rewrite();
  rewrite();  // in trees that the reader has seen
  EXPECT_EQ(error_of([&] { cursor.next(); }), ErrorCode::snapshot_too_old);
  EXPECT_EQ(error_of([&] { return rows_seen(reader.get()); }), ErrorCode::snapshot_too_old);
}

TEST_F(ReplacedTreesTest, GoWithADroppedTable) {
  load(10);
  const auto reader = begin();
  rewrite();
  empty_all();
  const auto dropper = begin(Isolation::read_committed);
  ASSERT_TRUE(tables().drop_table(*dropper, "people"));
  EXPECT_EQ(waiting(), 0U);
  dropper->commit();
  EXPECT_EQ(waiting(), 4U);
  EXPECT_TRUE(tables().held_back().empty());
}

TEST_F(ReplacedTreesTest, StayWhenADropIsTakenBack) {
  load(10);
  const auto reader = begin();
  rewrite();
  empty_all();
  const auto dropper = begin(Isolation::read_committed);
  ASSERT_TRUE(tables().drop_table(*dropper, "people"));
  dropper->rollback();
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(rows_seen(reader.get()), 10);
}

// Their definitions in memory are freed, too.
TEST_F(ReplacedTreesTest, TheirDefinitionsGo) {
  load(10);
  const std::weak_ptr<const TableDefinition> first = table()->keep_visible_to(nullptr);
  const std::weak_ptr<const TableFormat> format = table()->keep_visible_to(nullptr)->format;
  for (int round = 0; round < 3; ++round) {
    const auto by = begin(Isolation::read_committed);  // read by one that has the same rows
    ASSERT_TRUE(tables().create_index(*by, "people", {.name = "i", .columns = {"name"}}));
    by->commit();
    const auto dropper = begin(Isolation::read_committed);
    ASSERT_TRUE(tables().drop_index(*dropper, "people", "i"));
    dropper->commit();
  }
  EXPECT_TRUE(first.expired());
  EXPECT_TRUE(format.expired());
  const std::weak_ptr<const TableDefinition> second = table()->keep_visible_to(nullptr);
  rewrite();
  EXPECT_TRUE(second.expired());
}

// The catalog names the trees before or after, and opening empties all others.
TEST_F(ReplacedTreesTest, ACrashBeforeTheyAreVacantLosesNoneOfThem) {
  load(300);
  empty_all();
  rewrite();
  empty_all();
  const std::size_t all = trees();
  CrashImages crashes(disk_);
  crashes.take_at_operations();
  {
    const auto reader = begin();
    rewrite();
    crashes.take();
  }
  EXPECT_FALSE(tables().give_back_replaced());
  crashes.take();
  while (database_->tree_pool().step()) {
    database_->checkpointer().run();
    crashes.take();
  }
  const auto images = crashes.end();
  EXPECT_GT(images.size(), 10U);
  for (const auto& [disk, is_committed] : images) {
    database_.reset();
    disk_ = disk;
    open();
    EXPECT_EQ(rows_seen(nullptr), 300);
    empty_all();
    rewrite();
    empty_all();
    EXPECT_LE(trees(), all);
    EXPECT_TRUE(sound(*database_));
  }
}

// Memory can hold so many trees, and all of them are in use or retained: the error names the reader
// that retains them.
TEST_F(ReplacedTreesTest, TheReaderThatTakesTheRoomForTreesIsNamed) {
  disk_ = SimDisk();
  open(0, 0);  // the smallest allowed
  load(10);
  empty_all();
  const auto other = [](int number) { return fmt::format("other {}", number); };
  const auto make = [&](int number) {
    make_log_space();
    const auto by = begin(Isolation::read_committed);
    ASSERT_TRUE(tables().create_table(
        *by, {.name = other(number), .columns = {{"id", int32()}}, .key = {"id"}}));
    by->commit();
  };
  int made = 0;
  const auto make_some = [&] {
    for (; made < 100'000; ++made) {
      make(made);
    }
  };
  std::string message;
  EXPECT_EQ(error_of(make_some, &message), ErrorCode::out_of_memory);
  EXPECT_EQ(message.find("are kept for readers"), std::string::npos) << message;
  constexpr int kRewrites = 3;  // of two trees each
  for (int number = 0; number < 2 * kRewrites; ++number) {
    const auto dropper = begin(Isolation::read_committed);
    ASSERT_TRUE(tables().drop_table(*dropper, other(number)));
    dropper->commit();
  }
  empty_all();
  std::vector<txn::TransactionPtr> readers;
  std::optional<ErrorCode> code;
  for (int times = 0; times < 2 * kRewrites && !code; ++times) {
    readers.push_back(begin());
    code = error_of([&] { rewrite(); }, &message);
  }
  EXPECT_EQ(code, ErrorCode::out_of_memory);
  EXPECT_GE(readers.size(), std::size_t{kRewrites});
  EXPECT_NE(message.find(" trees replaced by bulks and alterations are kept for readers that "
                         "are still open; the oldest, a transaction in slot "),
            std::string::npos)
      << message;
  for (const txn::TransactionPtr& reader : readers) {
    EXPECT_EQ(rows_seen(reader.get()), 10);
  }
  readers.clear();
  EXPECT_FALSE(tables().give_back_replaced());
  empty_all();
  EXPECT_NO_THROW(rewrite());
}

#ifdef PALIMPSEST_SYNC_POINTS

/// A reader that is stopped within a call while the table is replaced, twice.
class ReplacedInACall : public ReplacedTreesTest,
                        public ::testing::WithParamInterface<std::tuple<const char*, Isolation>> {};
INSTANTIATE_TEST_SUITE_P(, ReplacedInACall,
                         ::testing::Combine(::testing::Values("engine.definition.call_entered",
                                                              "engine.definition.looked"),
                                            ::testing::Values(Isolation::none,
                                                              Isolation::read_committed,
                                                              Isolation::snapshot)));

TEST_P(ReplacedInACall, StayUntilItHasEnded) {
  const auto [point, isolation] = GetParam();
  replace(10);
  empty_all();
  const auto in = begin(isolation);
  std::weak_ptr<const TableDefinition> before = table()->keep_visible_to(nullptr);
  std::atomic<int> seen{-1};
  {
    SyncBarrier barrier(point);
    std::thread reader([&] { seen = rows_seen(in.get()); });
    barrier.wait_until_reached();
    rewrite();
    EXPECT_EQ(waiting(), 0U);
    EXPECT_FALSE(before.expired());
    rewrite();
    EXPECT_TRUE(tables().give_back_replaced());
    EXPECT_EQ(waiting(), 0U);
    barrier.release();
    reader.join();
  }
  EXPECT_EQ(seen.load(), 10);
  in->rollback();
  EXPECT_FALSE(tables().give_back_replaced());
  EXPECT_EQ(waiting(), 4U);
  EXPECT_TRUE(before.expired());
}

// A snapshot that is being taken, with a reading of the clock before the commit, sees the old rows.
TEST_F(ReplacedTreesTest, StayForASnapshotThatIsBeingTaken) {
  for (const char* const point : {"versioning.snapshot.marked", "versioning.snapshot.read"}) {
    replace(10);
    empty_all();
    std::atomic<int> seen{-1};
    SyncBarrier barrier(point);
    std::thread reader([&] { seen = rows_seen(begin().get()); });
    barrier.wait_until_reached();
    replace(20);
    replace(30);
    EXPECT_TRUE(tables().give_back_replaced()) << point;
    barrier.release();
    reader.join();
    const bool was_read = std::string(point) == "versioning.snapshot.read";
    EXPECT_EQ(seen.load(), was_read ? 10 : 30) << point;
    EXPECT_FALSE(tables().give_back_replaced()) << point;
  }
}

// The reader returns the row, or a read with a snapshot looks again: the table always exists.
TEST_F(ReplacedTreesTest, ARowIsFoundWhoseTreeGoesMeanwhile) {
  replace(10);
  empty_all();
  const DefinitionPtr kept = table()->keep_visible_to(nullptr);
  const TablePtr people = table();
  const ReadableTable readable{
      .table = people.get(), .kept = kept.get(), .transactions = &database_->transactions()};
  TableReader before(readable, nullptr, Reads::one_row);
  TableReader behind(readable, nullptr, Reads::one_row);
  TableReader absent(readable, nullptr, Reads::one_row);
  int shown = 0;
  const auto show = [&](const RowView&) { ++shown; };
  EXPECT_TRUE(before.read({3}, show));
  rewrite();
  EXPECT_EQ(waiting(), 2U) << "a call that only looks at what is kept holds nothing up";
  empty_all();
  EXPECT_TRUE(behind.read({3}, show)) << "by a snapshot";
  EXPECT_FALSE(absent.read({77}, show));
  EXPECT_EQ(shown, 2);
}

// Between a reader's look at the newest version and at older ones, the newest is rolled back.
TEST_F(ReplacedTreesTest, AReaderOfThePastFindsTheNewestStateAgain) {
  replace(5);
  replace(10);
  const auto oldest = begin();
  replace(20);
  empty_all();
  const auto by = begin(Isolation::read_committed);
  Bulk bulk(database_->transactions(), tables(), *by);
  const auto same = [](const TableSchema& before) {
    return TableAlteration{.columns = before.columns, .renamed = {}};
  };
  ASSERT_TRUE(bulk.alter_table("people", same, nullptr));
  bulk.publish();
  const auto reader = begin();
  std::atomic<int> seen{-1};
  {
    SyncBarrier barrier("engine.definition.looks_back");
    std::thread looker([&] { seen = rows_seen(reader.get()); });
    barrier.wait_until_reached();
    bulk.let_go();
    by->rollback();
    barrier.release();
    looker.join();
  }
  EXPECT_EQ(seen.load(), 20);
  EXPECT_EQ(rows_seen(oldest.get()), 10);
}

#endif

/// With the engine's own threads, on a disk that can hold a table a few times.
class SmallDisk : public ReplacedTreesTest {
 protected:
  void TearDown() override {
    database_->tree_pool().stop();
    expect_sound();
    database_.reset();
  }
  void open_small(std::uint64_t bytes, std::uint64_t version_bytes = std::uint64_t{1} << 20U) {
    database_.reset();
    small_ = SimDisk(SimOptions{.capacity_bytes = bytes, .reorder_completions = false});
    device_ = small_.device();
    EngineOptions options = small_options();
    options.memory_bytes = 4 * version_bytes;
    options.version_bytes_max = version_bytes;
    options.log_bytes_max = 256 * wal::kSegmentBytesMin;
    options.background_threads = true;
    database_ = Engine::open(*device_, *log_device_, options);
    const auto by = begin(Isolation::read_committed);
    ASSERT_TRUE(tables().create_table(*by, kPeople));
    by->commit();
  }
  void load_wide(int rows) {
    const auto by = begin(Isolation::read_committed);
    Bulk bulk(database_->transactions(), tables(), *by);
    const std::string name(800, 'w');
    for (int id = 0; id < rows; ++id) {
      bulk.insert(*table(), {id, name}).require();
    }
    bulk.publish();
    by->commit();
  }
  void erase_wide() {
    const auto by = begin(Isolation::read_committed);
    RowStatements(*by, *table()).erase_range(Range::all()).outcome.require();
    by->commit();
  }

  SimDisk log_disk_;
  SimDisk small_;
  std::unique_ptr<io::Device> log_device_ = log_disk_.device();
};

TEST_F(SmallDisk, HasRoomForATableThatIsFilledAgainAndAgain) {
  open_small(std::uint64_t{8} << 20U);
  const int rounds = palimpsest::test::repeats(60);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_NO_THROW(load_wide(2000)) << round;
    ASSERT_NO_THROW(erase_wide()) << round;
  }
}

// The error names the reader that retains the space; when that has ended, there is space again. The
// memory for versions exceeds what the reader retains of them: otherwise the reader would be
// cancelled.
TEST_F(SmallDisk, NamesTheReaderThatKeepsItFull) {
  constexpr int kThird = 3000;  // of the disk, and a little more
  open_small(std::uint64_t{8} << 20U, std::uint64_t{4} << 20U);
  load_wide(kThird);
  const auto reader = begin();
  const auto refill = [&] {
    erase_wide();
    load_wide(kThird);
  };
  std::optional<ErrorCode> code;
  for (int round = 0; round < 10 && !code; ++round) {
    code = error_of(refill, "a transaction in slot");
  }
  EXPECT_EQ(code, ErrorCode::no_space);
  EXPECT_EQ(rows_seen(reader.get()), kThird);
  reader->rollback();
  EXPECT_TRUE(eventually([&] { return !error_of(refill); }));
}

}  // namespace
}  // namespace palimpsest::engine::test
