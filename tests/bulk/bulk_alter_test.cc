// Tables that a bulk alters: the state after a crash at any time, and a full disk.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "engine/api/bulk_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::CrashImages;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using txn::Durability;
using txn::Isolation;

constexpr int kRows = 600;

const TableSchema kPeople{
    .name = "people", .columns = {{"id", int32()}, {"name", varchar(100)}}, .key = {"id"}};
const IndexSchema kByName{.name = "by_name", .columns = {"name"}};
/// Adds an age between the two columns, of any nullable type.
TableAlteration with(const DataType& age) {
  return {.columns = {{"id", int32()}, {"age", nullable(age)}, {"name", varchar(100)}},
          .renamed = {}};
}
constexpr auto kWithAge = [](const TableSchema&) { return with(int32()); };

EngineOptions options() {
  EngineOptions options = small_options();
  options.definition_patience = std::chrono::milliseconds(20);
  options.memory_bytes = std::uint64_t{16} << 20U;  // roots of trees stay in memory
  return options;
}

class BulkAlterTest : public ::testing::Test {
 protected:
  BulkAlterTest() {
    const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
    EXPECT_TRUE(tables().create_table(*by, kPeople));
    EXPECT_TRUE(tables().create_index(*by, "people", kByName));
    const RowStatements writes(*by, *tables().find("people", by.get()));
    for (int id = 0; id < kRows; ++id) {
      const std::string name = fmt::format("name {:06}", id);
      EXPECT_TRUE(writes.insert({id, name}));
    }
    by->commit();
  }

  [[nodiscard]] TableCatalog& tables() { return database_->tables(); }
  /// Empties waiting trees; then everything must be sound.
  static void expect_sound(Engine& database) {
    while (database.tree_pool().step()) {
      while (database.checkpointer().step()) {
      }
    }
    EXPECT_TRUE(sound(database));
  }
  /// The number of columns of the table, which must have all its rows.
  [[nodiscard]] static std::size_t columns_of(Engine& database) {
    const TablePtr table = database.tables().find("people", nullptr);
    const TableDefinition& definition = *table->visible_to(nullptr);
    EXPECT_EQ(content_of(*definition.rows).size(), std::size_t{kRows});
    EXPECT_EQ(content_of(*definition.indexes.at(0)).size(), std::size_t{kRows});
    return definition.format->schema().columns.size();
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_ = disk_.device();
  std::unique_ptr<Engine> database_ = Engine::open(*device_, *device_, options());
};

TEST_F(BulkAlterTest, ACrashLeavesWhatWasOrWhatIs) {
  CrashImages crashes(disk_);
  crashes.take_at_operations();
  {
    const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
    Bulk bulk(database_->transactions(), tables(), *by);
    ASSERT_TRUE(bulk.alter_table("people", kWithAge, nullptr));
    database_->checkpointer().run();
    crashes.take();
    bulk.publish();
    crashes.take();
    by->commit();
  }
  crashes.set_committed();
  crashes.take();
  const auto images = crashes.end();
  std::size_t whole = 0;
  for (const auto& [disk, is_committed] : images) {
    const auto device = disk.device();
    const auto database = Engine::open(*device, *device, options());
    const std::size_t columns = columns_of(*database);
    EXPECT_TRUE(columns == 3 || (columns == 2 && !is_committed)) << columns;
    whole += columns == 3 ? 1U : 0U;
    expect_sound(*database);
  }
  EXPECT_GT(whole, 0U);
  EXPECT_LT(whole, images.size());
}

// An alteration that is not committed returns its pages, also if it stops after a part of the rows.
TEST_F(BulkAlterTest, WhatIsNotCommittedGivesItsTreesBack) {
  const std::size_t trees = database_->catalog().entries().size();
  for (int round = 0; round < 5; ++round) {
    database_->checkpointer().run();  // frees space in the log
    const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
    Bulk bulk(database_->transactions(), tables(), *by);
    const auto fails = [](const RowView& row, std::span<Value> values) {
      values[1] = row["id"].as_integer() == kRows - 1 ? Value("none") : Value(7);
    };
    const ConvertRow convert = fails;
    EXPECT_EQ(
        error_of([&] { return bulk.alter_table("people", kWithAge, &convert); }, "in row (599)"),
        ErrorCode::invalid_argument);
    EXPECT_TRUE(bulk.alter_table("people", kWithAge, nullptr));
    EXPECT_TRUE(bulk.alter_table("people", kWithAge, nullptr));
    by->rollback();
    EXPECT_EQ(columns_of(*database_), 2U);
    expect_sound(*database_);
  }
  EXPECT_LE(database_->catalog().entries().size(), trees + 6);
}

// The trees of a table altered twice, and of a refused alteration, if the bulk commits
// nevertheless.
TEST_F(BulkAlterTest, TreesThatNoSnapshotSawGoBackWithTheCommit) {
  const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
  Bulk bulk(database_->transactions(), tables(), *by);
  const auto fails = [](const RowView&, std::span<Value> values) { values[1] = "none"; };
  const ConvertRow convert = fails;
  EXPECT_EQ(error_of([&] { return bulk.alter_table("people", kWithAge, &convert); }, "in row (0)"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(database_->tree_pool().waiting(), 2U);
  while (database_->tree_pool().step()) {
  }
  EXPECT_TRUE(bulk.alter_table("people", kWithAge, nullptr));
  EXPECT_TRUE(bulk.alter_table("people", kWithAge, nullptr));
  bulk.publish();
  const auto reader = database_->begin();
  by->commit();
  EXPECT_EQ(database_->tree_pool().waiting(), 2U) << "what the reader sees stays";
  reader->rollback();
  EXPECT_FALSE(tables().give_back_replaced());
  EXPECT_EQ(database_->tree_pool().waiting(), 4U);
  EXPECT_EQ(columns_of(*database_), 3U);
  expect_sound(*database_);
}

// Nothing is left half done, and the disk space it took is freed.
TEST_F(BulkAlterTest, AFullDiskIsToldAndTheTableStays) {
  database_->checkpointer().run();
  disk_.inject({.error = ENOSPC,
                .kinds = static_cast<unsigned>(SimKind::allocate),
                .file = "pages",
                .for_good = true});
  const auto by = database_->begin(Durability::synchronous, Isolation::read_committed);
  Bulk bulk(database_->transactions(), tables(), *by);
  const std::string text(60'000, 'x');
  const auto widens = [&](const RowView&, std::span<Value> values) { values[1] = text; };
  const ConvertRow convert = widens;
  const auto wide = [](const TableSchema&) { return with(varchar(60'000)); };
  EXPECT_EQ(error_of([&] { return bulk.alter_table("people", wide, &convert); }),
            ErrorCode::no_space);
  disk_.clear_faults();
  by->rollback();
  EXPECT_EQ(columns_of(*database_), 2U);
  expect_sound(*database_);
}

}  // namespace
}  // namespace palimpsest::engine::test
