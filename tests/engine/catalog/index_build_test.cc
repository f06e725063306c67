// Indexes of tables with more rows than can be sorted in memory: their contents, what is refused,
// and what is left after a failure or a crash.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/api/bulk_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::CrashImages;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimFault;
using palimpsest::test::SimOperation;
using ::testing::HasSubstr;

const IndexSchema kByName{.name = "by_name", .columns = {"name"}, .unique = true};
const IndexSchema kByGroup{.name = "by_group", .columns = {"group", "name"}};

TableSchema people(const std::string& name = "people") {
  return {.name = name,
          .columns = {{"id", int32()}, {"name", varchar(200)}, {"group", nullable(int16())}},
          .key = {"id"}};
}

EngineOptions options_for_sorting() {
  EngineOptions options = small_options();
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.log_bytes_max = 100 * wal::kSegmentBytesMin;
  options.sort_bytes = 1;  // the least that a sort takes
  return options;
}

/// In another order than the ids'.
std::string name_of(int id, int rows) {
  return fmt::format("{:07} {}", (std::int64_t{id} * 7919) % rows, std::string(90, 'n'));
}

class IndexBuildTest : public ::testing::Test {
 protected:
  void open() {
    database_.reset();
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options_);
  }
  void open(const SimDisk& disk) {
    database_.reset();
    disk_ = disk;
    open();
  }
  void fill(Bulk& bulk, const TableState& table, int rows, int first = 0) {
    for (int id = first; id < rows; ++id) {
      const std::string name = name_of(id, rows);
      ASSERT_TRUE(bulk.insert(
          table, {id, std::string_view(name), id % 3 == 0 ? Value() : Value(id % 100)}));
    }
  }
  /// Makes a table with so many rows.
  void make(int rows, const std::string& table = "people") {
    open();
    auto by = database_->begin();
    ASSERT_TRUE(tables().create_table(*by, people(table)));
    by->commit();
    by = database_->begin();
    Bulk bulk(database_->transactions(), tables(), *by);
    fill(bulk, *tables().find(table, nullptr), rows);
    bulk.publish();
    by->commit();
    database_->checkpointer().run();
  }
  [[nodiscard]] Outcome create_index(const IndexSchema& schema) {
    const auto by = database_->begin();
    Outcome outcome = tables().create_index(*by, "people", schema);
    if (outcome) {
      by->commit();
    }
    return outcome;
  }
  [[nodiscard]] TableCatalog& tables() { return database_->tables(); }
  [[nodiscard]] std::size_t indexes() {
    return tables().find("people", nullptr)->visible_to(nullptr)->indexes.size();
  }
  void empty_trees() {
    while (database_->tree_pool().step()) {
      while (database_->checkpointer().step()) {
      }
    }
  }
  /// The table is sound, and nothing of a failed build is left.
  void expect_clean() {
    empty_trees();
    EXPECT_TRUE(sound(*database_));
    for (const std::string& name : device_->list()) {
      EXPECT_FALSE(name.starts_with("sort-")) << name;
    }
  }

  EngineOptions options_ = options_for_sorting();
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(IndexBuildTest, OverManyTimesTheMemoryIsAppendedAndNotLogged) {
  const int rows = palimpsest::test::repeats(60'000);  // many times what is sorted in memory
  make(rows);
  const std::uint64_t logged = database_->log().statistics().record_bytes;
  const std::uint64_t fresh = database_->pool().writer().statistics().pages_fresh;
  ASSERT_TRUE(create_index(kByName));
  ASSERT_TRUE(create_index(kByGroup));
  EXPECT_GT(database_->pool().writer().statistics().pages_fresh - fresh,
            2U * static_cast<unsigned>(rows) * 100 / 4096);
  EXPECT_LT(database_->log().statistics().record_bytes - logged,
            2U * static_cast<unsigned>(rows) * 100 / 10);
  expect_clean();
  open(disk_.crash(1));
  EXPECT_EQ(indexes(), 2U);
  expect_clean();
}

TEST_F(IndexBuildTest, WithThreads) {
  options_.background_threads = true;
  make(20'000);
  ASSERT_TRUE(create_index(kByName));
  ASSERT_TRUE(create_index(kByGroup));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(IndexBuildTest, EveryNumberOfRows) {
  for (const int rows : {0, 1, 2, 999, 1000, 1001, 2'400, 2'700, 5'000}) {
    disk_ = SimDisk();
    make(rows);
    ASSERT_TRUE(create_index(kByName)) << rows;
    EXPECT_EQ(content_of(*tables().find("people", nullptr)->visible_to(nullptr)->indexes[0]).size(),
              static_cast<std::size_t>(rows));
    expect_clean();
  }
}

TEST_F(IndexBuildTest, TwoRowsWithOneKeyAreFoundWhereverTheyAre) {
  constexpr int kRows = 20'000;
  make(kRows);
  for (const auto& [first, second] :
       std::vector<std::pair<int, int>>{{0, 1}, {0, kRows - 1}, {7000, 13'000}}) {
    auto by = database_->begin();
    const TablePtr table = tables().find("people", nullptr);
    const std::string name = name_of(first, kRows);
    const std::string before = name_of(second, kRows);
    const auto rename = [&](const std::string& to) {
      return RowStatements(*by, *table).update({second}, {{"name", std::string_view(to)}});
    };
    ASSERT_TRUE(rename(name));
    by->commit();
    const Outcome outcome = create_index(kByName);
    EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
    EXPECT_EQ(outcome.place().table, "people");
    EXPECT_EQ(outcome.place().index, "by_name");
    EXPECT_THAT(outcome.place().key, HasSubstr(name.substr(0, 7)));
    EXPECT_EQ(indexes(), 0U);
    by = database_->begin();
    ASSERT_TRUE(rename(before));
    by->commit();
  }
  expect_clean();
  ASSERT_TRUE(create_index(kByName));
  expect_clean();
}

TEST_F(IndexBuildTest, NullsAreLikeNoOther) {
  make(3'000);
  IndexSchema unique = kByGroup;
  unique.columns = {"group"};
  unique.unique = true;
  const Outcome outcome = create_index(unique);
  EXPECT_EQ(outcome.kind(), OutcomeKind::exists);  // 100, 200, ...: not the nulls, which come first
  EXPECT_EQ(outcome.place().key, "(0)");
  expect_clean();
}

TEST_F(IndexBuildTest, OfATableThatABulkFills) {
  make(10);
  constexpr int kRows = 10'000;
  auto by = database_->begin();
  {
    Bulk bulk(database_->transactions(), tables(), *by);
    ASSERT_TRUE(bulk.create_table(people("filled")));
    const TablePtr table = tables().find("filled", by.get());
    fill(bulk, *table, kRows / 2);
    ASSERT_TRUE(bulk.create_index("filled", kByGroup));
    for (int id = kRows / 2; id < kRows; ++id) {
      ASSERT_TRUE(bulk.insert(*table, {id, "later", id % 100}));
    }
    bulk.publish();
  }
  by->commit();
  EXPECT_EQ(content_of(*tables().find("filled", nullptr)->visible_to(nullptr)->indexes[0]).size(),
            static_cast<std::size_t>(kRows));
  expect_clean();
}

TEST_F(IndexBuildTest, HoldsNoLogBackWhileItSorts) {
  make(20'000);
  btree::BTree* const other = database_->make_tree("other");
  std::vector<Gsn> oldest;
  disk_.set_hook([&](const SimOperation& operation) {
    if (operation.file.starts_with("sort-")) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      EXPECT_FALSE(by->upsert(*other, "key", fmt::format("{}", oldest.size())).conflict);
      by->commit();
      oldest.push_back(database_->transactions().oldest());
    }
  });
  const auto by = database_->begin();
  ASSERT_TRUE(tables().create_index(*by, "people", kByName));
  disk_.set_hook({});
  by->commit();
  // The oldest GSN needed advances while the build reads the rows, merges, and inserts the entries.
  ASSERT_GT(oldest.size(), 200U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_GT(oldest[(i + 1) * (oldest.size() - 1) / 4], oldest[i * (oldest.size() - 1) / 4]) << i;
  }
  expect_clean();
}

#ifdef PALIMPSEST_SYNC_POINTS

// A writer needs log space while leaves are written, and cancels every transaction in its way.
TEST_F(IndexBuildTest, GivesWayAndGoesOn) {
  make(3'000);
  bool has_asked = false;
  {
    const SyncHook written("btree.append.written", [&] {
      if (!std::exchange(has_asked, true)) {
        database_->transactions().cancel_older_than(database_->transactions().now());
      }
    });
    EXPECT_TRUE(create_index(kByName));
  }
  EXPECT_TRUE(has_asked);
  EXPECT_EQ(indexes(), 1U);
  expect_clean();
}

#endif

TEST_F(IndexBuildTest, EndsWhenItsSnapshotWasCancelled) {
  make(20'000);
  btree::BTree* const other = database_->make_tree("other");
  bool is_cancelled = false;
  std::uint64_t operations = 0;
  disk_.set_hook([&](const SimOperation& operation) {
    const bool is_sort = operation.file.starts_with("sort-");
    operations += is_cancelled ? 1U : 0U;
    if (is_sort && !is_cancelled) {
      is_cancelled = database_->transactions().cancel_oldest_snapshot();
    }
  });
  auto by = database_->begin();
  for (const char* value : {"one", "two"}) {  // invisible to the snapshot
    const auto later = database_->begin();
    EXPECT_FALSE(later->upsert(*other, "key", value).conflict);
    later->commit();
  }
  EXPECT_EQ(error_of([&] { return tables().create_index(*by, "people", kByName); }),
            ErrorCode::snapshot_too_old);
  disk_.set_hook({});
  EXPECT_TRUE(is_cancelled);
  EXPECT_LT(operations, 100U) << "it does not go on for long";
  by.reset();
  EXPECT_EQ(indexes(), 0U);
  ASSERT_TRUE(create_index(kByName));
  expect_clean();
}

TEST_F(IndexBuildTest, ACrashAtAnyWriteLeavesTheIndexOrNothing) {
  make(5'000);
  CrashImages crashes(disk_);
  crashes.take_at_operations();
  ASSERT_TRUE(create_index(kByName));
  crashes.set_committed();
  crashes.take();
  const std::vector<CrashImages::Image> images = crashes.end();
  std::size_t whole = 0;
  palimpsest::test::Sweep sweep(images.size(), 15, 2);
  while (const auto image = sweep.next()) {
    open(images[*image].disk);
    ASSERT_TRUE(indexes() == 1 || (indexes() == 0 && !images[*image].is_committed));
    whole += indexes();
    expect_clean();
    ASSERT_FALSE(HasFailure()) << *image;
  }
  open(images.back().disk);
  EXPECT_EQ(indexes(), 1U);
  EXPECT_LT(whole, images.size());
}

TEST_F(IndexBuildTest, WhateverFailsItCanBeMadeLater) {
  constexpr int kRows = 5'000;
  make(kRows);
  const SimDisk before = disk_.snapshot();
  const std::uint64_t first = disk_.operations();
  ASSERT_TRUE(create_index(kByName));
  const std::uint64_t operations = disk_.operations() - first;
  palimpsest::test::Sweep sweep(operations, 15, 2);
  std::size_t of_sorts = 0;
  while (const auto nth = sweep.next()) {
    open(before.snapshot());
    disk_.inject(SimFault{.error = *nth % 2 == 0 ? EIO : ENOSPC, .nth = *nth + 1});
    std::string message;
    auto by = database_->begin();
    const auto code =
        error_of([&] { return tables().create_index(*by, "people", kByName); }, &message);
    disk_.clear_faults();
    if (code && message.find("sort-1.tmp") != std::string::npos) {
      ++of_sorts;  // nothing but the sort has failed: the transaction goes on
      ASSERT_EQ(code, *nth % 2 == 0 ? ErrorCode::io_error : ErrorCode::no_space) << message;
      ASSERT_TRUE(tables().create_index(*by, "people", kByName));
      by->commit();
    } else {
      by.reset();
      open(disk_.crash(*nth));
      ASSERT_EQ(indexes(), 0U);
      ASSERT_TRUE(create_index(kByName));
    }
    expect_clean();
    ASSERT_FALSE(HasFailure()) << *nth << ": " << message;
  }
  EXPECT_GT(of_sorts, 10U);
}

TEST_F(IndexBuildTest, WhatASortHasLeftIsRemovedWhenTheDatabaseIsOpened) {
  make(10);
  database_.reset();
  for (const char* name : {"sort-1.tmp", "sort-99.tmp", "sorted-1.tmp"}) {
    static_cast<void>(device_->open(name, io::OpenMode::create_new, false));
  }
  open();
  EXPECT_FALSE(device_->exists("sort-1.tmp"));
  EXPECT_FALSE(device_->exists("sort-99.tmp"));
  EXPECT_TRUE(device_->exists("sorted-1.tmp"));
}

}  // namespace
}  // namespace palimpsest::engine::test
