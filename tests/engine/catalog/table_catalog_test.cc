// Tables and indexes made, changed and dropped within transactions, beside readers and writers,
// across crashes, and at random beside a model.
#include "engine/catalog/table_catalog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "btree/node/key_bytes.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using namespace palimpsest::types;
using palimpsest::test::CrashKeeps;
using palimpsest::test::SimDisk;

TableSchema people(const std::string& name = "people") {
  return {.name = name,
          .columns = {{"id", int32()}, {"name", varchar(100)}, {"age", nullable(int16())}},
          .key = {"id"}};
}

const IndexSchema kByName{.name = "by_name", .columns = {"name"}};
const IndexSchema kByAge{.name = "by_age", .columns = {"age"}, .unique = true};

class TableCatalogTest : public ::testing::Test {
 protected:
  TableCatalogTest() { open(); }

  void open() {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.definition_patience = std::chrono::milliseconds(20);
    options.memory_bytes = std::uint64_t{4} << 20U;  // roots of trees stay in memory
    options.log_bytes_max = 128 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
  }
  void crash(CrashKeeps keeps = CrashKeeps::nothing) {
    lose_power(disk_, database_, keeps);
    open();
  }
  /// A definer changes the current definition, whatever has changed since its transaction began.
  [[nodiscard]] txn::TransactionPtr begin_definer() {
    return database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
  }
  [[nodiscard]] TableCatalog& tables() { return database_->tables(); }
  [[nodiscard]] bool sees(const txn::TransactionPtr& by, const std::string& name) {
    return tables().find(name, by.get()) != nullptr;
  }
  [[nodiscard]] bool is_there(const std::string& name) {
    return tables().find(name, nullptr) != nullptr;
  }
  void make(const TableSchema& schema) {
    const auto by = begin_definer();
    ASSERT_TRUE(tables().create_table(*by, schema));
    by->commit();
  }
  /// Inserts rows [first, last) without index entries.
  void fill(const std::string& name, int first, int last, const txn::TransactionPtr& by) {
    const TablePtr table = tables().find(name, by.get());
    ASSERT_NE(table, nullptr);
    const TableDefinition& definition = *table->visible_to(by.get());
    KeyMemory memory;
    std::string row;
    for (int id = first; id < last; ++id) {
      const std::string text = fmt::format("name {}", id % 10);
      const std::vector<Value> values{id, text, id};
      definition.format->rows().encode(values, row);
      const auto outcome =
          by->insert(*definition.rows, definition.format->keys().encode_row(values, memory), row);
      ASSERT_FALSE(outcome.existed || outcome.conflict);
    }
  }
  void fill(const std::string& name, int first, int last) {
    for (int begin = first; begin < last; begin += 500) {
      const auto by = begin_definer();
      fill(name, begin, std::min(begin + 500, last), by);
      by->commit();
      make_log_space();
    }
  }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }
  [[nodiscard]] std::size_t records_of(const btree::BTree& tree) { return content_of(tree).size(); }
  [[nodiscard]] const TableDefinition& definition(const std::string& name) {
    return *tables().find(name, nullptr)->visible_to(nullptr);
  }
  void empty_trees() {
    while (database_->tree_pool().step()) {
      make_log_space();
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(TableCatalogTest, IsVisibleToOtherTransactionsOnceCommitted) {
  const auto maker = begin_definer();
  const auto other = begin_definer();
  EXPECT_TRUE(tables().create_table(*maker, people()));
  EXPECT_TRUE(sees(maker, "people"));
  EXPECT_FALSE(sees(other, "people"));
  EXPECT_FALSE(is_there("people"));
  maker->commit();
  EXPECT_TRUE(sees(other, "people"));
  EXPECT_EQ(definition("people").format->schema(), people());
  other->rollback();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, RolledBackIsNeverThereAndItsTreeIsUsedAgain) {
  TreeId tree{};
  {
    const auto maker = begin_definer();
    ASSERT_TRUE(tables().create_table(*maker, people()));
    fill("people", 0, 500, maker);
    tree = tables().find("people", maker.get())->visible_to(maker.get())->rows->id();
    maker->rollback();
  }
  EXPECT_FALSE(is_there("people"));
  empty_trees();
  make(people("others"));
  EXPECT_EQ(definition("others").rows->id(), tree);
  EXPECT_EQ(records_of(*definition("others").rows), 0U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, DroppedAfterTheCommitAndItsPagesComeBack) {
  make(people());
  fill("people", 0, 20000);
  const btree::BTree* const rows = definition("people").rows;
  EXPECT_EQ(rows->descent().root_level(), 1U);
  {
    const auto by = begin_definer();
    ASSERT_TRUE(tables().drop_table(*by, "people"));
    EXPECT_FALSE(sees(by, "people"));
    EXPECT_TRUE(is_there("people"));
    EXPECT_EQ(records_of(*rows), 20000U);
    by->commit();
  }
  EXPECT_FALSE(is_there("people"));
  EXPECT_EQ(database_->tree_pool().waiting(), 1U);
  empty_trees();
  EXPECT_EQ(records_of(*rows), 0U);
  EXPECT_EQ(rows->descent().root_level(), 0U) << "the root is all that is left";
  EXPECT_TRUE(sound(*database_)) << "and every page in use is reached";
}

TEST_F(TableCatalogTest, DropThatIsRolledBackChangesNothing) {
  make(people());
  fill("people", 0, 100);
  const auto by = begin_definer();
  ASSERT_TRUE(tables().drop_table(*by, "people"));
  EXPECT_EQ(tables().drop_table(*by, "people").kind(), OutcomeKind::absent);
  by->rollback();
  EXPECT_TRUE(is_there("people"));
  EXPECT_EQ(records_of(*definition("people").rows), 100U);
  fill("people", 100, 101);
}

TEST_F(TableCatalogTest, DroppedAndMadeAgainInOneTransaction) {
  make(people());
  fill("people", 0, 10);
  TableSchema other = people();
  other.columns.push_back({"more", int64()});
  for (const bool commits : {false, true}) {
    const auto by = begin_definer();
    ASSERT_TRUE(tables().drop_table(*by, "people"));
    ASSERT_TRUE(tables().create_table(*by, other));
    EXPECT_EQ(tables().create_table(*by, other).kind(), OutcomeKind::exists);
    commits ? static_cast<void>(by->commit()) : by->rollback();
    EXPECT_EQ(definition("people").format->schema(), commits ? other : people());
    EXPECT_EQ(records_of(*definition("people").rows), commits ? 0U : 10U);
  }
  crash();
  EXPECT_EQ(definition("people").format->schema(), other);
  empty_trees();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, OneNameTwoMakers) {
  const auto one = begin_definer();
  const auto two = begin_definer();
  ASSERT_TRUE(tables().create_table(*one, people()));
  EXPECT_EQ(tables().create_table(*two, people()).kind(), OutcomeKind::conflict);
  one->commit();
  const Outcome outcome = tables().create_table(*two, people());
  EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
  EXPECT_EQ(outcome.place().table, "people");
  two->rollback();
}

TEST_F(TableCatalogTest, IndexHasTheRowsThatAreThere) {
  make(people());
  fill("people", 0, 2500);
  {
    const auto by = begin_definer();
    ASSERT_TRUE(tables().create_index(*by, "people", kByName));
    ASSERT_TRUE(tables().create_index(*by, "people", kByAge));
    EXPECT_EQ(tables().create_index(*by, "people", kByAge).kind(), OutcomeKind::exists);
    EXPECT_TRUE(definition("people").indexes.empty());
    by->commit();
  }
  ASSERT_EQ(definition("people").indexes.size(), 2U);
  for (const btree::BTree* index : definition("people").indexes) {
    EXPECT_EQ(records_of(*index), 2500U);
  }
  crash();
  EXPECT_EQ(records_of(*definition("people").indexes[1]), 2500U);
  const auto dropper = begin_definer();
  ASSERT_TRUE(tables().drop_index(*dropper, "people", "by_name"));
  EXPECT_EQ(tables().drop_index(*dropper, "people", "by_name").kind(), OutcomeKind::absent);
  dropper->commit();
  EXPECT_EQ(definition("people").format->stored().indexes[0].schema, kByAge);
  empty_trees();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, UniqueIndexOfRowsThatAreNotIsRefusedAndTheRestGoesOn) {
  make(people());
  fill("people", 0, 1500);
  IndexSchema unique = kByName;
  unique.unique = true;
  const auto by = begin_definer();
  ASSERT_TRUE(tables().create_table(*by, people("others")));
  const Outcome outcome = tables().create_index(*by, "people", unique);
  EXPECT_EQ(outcome.kind(), OutcomeKind::exists);
  EXPECT_EQ(outcome.place().index, "by_name");
  EXPECT_THAT(outcome.place().key, ::testing::HasSubstr("name "));
  by->commit();
  EXPECT_TRUE(is_there("others"));
  EXPECT_TRUE(definition("people").indexes.empty());
  empty_trees();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, EarlierWritersAreWaitedForAndLaterOnesConflict) {
  make(people());
  const auto writer = begin_definer();
  fill("people", 0, 1, writer);
  const auto by = begin_definer();
  EXPECT_EQ(tables().create_index(*by, "people", kByName).kind(), OutcomeKind::conflict);
  const TablePtr table = tables().find("people", nullptr);
  EXPECT_FALSE(table->is_changed_by_another(*writer)) << "it has given up";
  writer->commit();
  ASSERT_TRUE(tables().create_index(*by, "people", kByName));
  const auto later = begin_definer();
  EXPECT_TRUE(table->is_changed_by_another(*later));
  EXPECT_EQ(tables().drop_table(*later, "people").kind(), OutcomeKind::conflict);
  EXPECT_FALSE(table->is_changed_by_another(*by));
  by->commit();
  EXPECT_FALSE(table->is_changed_by_another(*later));
  later->rollback();
}

TEST_F(TableCatalogTest, WaitsUntilTheWriterHasEnded) {
  make(people());
  database_.reset();
  device_ = disk_.device();
  EngineOptions options = small_options();
  options.definition_patience = std::chrono::seconds(60);
  database_ = Engine::open(*device_, *device_, options);
  auto writer = begin_definer();
  fill("people", 0, 1, writer);
  const TablePtr table = tables().find("people", nullptr);
  std::thread ending([&] {
    while (!table->is_changed_by_another(*writer)) {
      std::this_thread::yield();
    }
    writer->commit();
  });
  const auto by = begin_definer();
  const Outcome outcome = tables().create_index(*by, "people", kByName);
  ending.join();
  ASSERT_TRUE(outcome);
  by->commit();
  EXPECT_EQ(records_of(*definition("people").indexes[0]), 1U);
}

TEST_F(TableCatalogTest, AfterACrashTreesOfNoTableAreEmptied) {
  make(people());
  fill("people", 0, 1000);
  auto by = begin_definer();
  ASSERT_TRUE(tables().create_table(*by, people("unfinished")));
  fill("unfinished", 0, 1000, by);
  ASSERT_TRUE(tables().create_index(*by, "people", kByName));
  make(people("durable"));  // and with it everything before
  SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
  disk_.power_off();
  by.reset();
  database_.reset();
  disk_ = crashed;
  open();
  EXPECT_FALSE(is_there("unfinished"));
  EXPECT_TRUE(is_there("durable"));
  EXPECT_TRUE(definition("people").indexes.empty());
  EXPECT_EQ(database_->tree_pool().waiting(), 2U);
  empty_trees();
  EXPECT_EQ(records_of(*definition("people").rows), 1000U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(TableCatalogTest, KeysThatNoPageHoldsAreRefusedAtOnce) {
  const auto by = begin_definer();
  const std::uint32_t most = btree::key_bytes_max(4096);
  TableSchema schema = people();
  schema.columns.push_back({"code", character(most - 4)});
  schema.columns.push_back({"note", nullable(character(2 * most))});
  schema.key = {"id", "code"};
  const TableSchema fits = schema;
  schema.columns[3].type = character(most - 3);
  EXPECT_EQ(palimpsest::test::error_of([&] { return tables().create_table(*by, schema); },
                                       fmt::format("table \"people\": a key has at least {} bytes, "
                                                   "but keys have at most {} with pages of 4096",
                                                   most + 1, most)),
            ErrorCode::invalid_argument);
  ASSERT_TRUE(tables().create_table(*by, fits));
  EXPECT_EQ(
      palimpsest::test::error_of(
          [&] { return tables().create_index(*by, "people", {.name = "i", .columns = {"code"}}); },
          "table \"people\", index \"i\": a key has "),
      ErrorCode::invalid_argument)
      << "an entry has the row's key as well";
  EXPECT_TRUE(
      tables().create_index(*by, "people", {.name = "u", .columns = {"code"}, .unique = true}));
  EXPECT_TRUE(
      tables().create_index(*by, "people", {.name = "n", .columns = {"note"}, .unique = true}))
      << "rows without one have entries";
  by->commit();
}

TEST_F(TableCatalogTest, WhatNoTableCanBeIsRefused) {
  const auto by = begin_definer();
  TableSchema schema = people();
  schema.key.clear();
  EXPECT_EQ(palimpsest::test::error_of([&] { return tables().create_table(*by, schema); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(tables().drop_table(*by, "nobody").kind(), OutcomeKind::absent);
  ASSERT_TRUE(tables().create_table(*by, people()));
  EXPECT_EQ(palimpsest::test::error_of([&] {
              return tables().create_index(*by, "people", {.name = "i", .columns = {"none"}});
            }),
            ErrorCode::invalid_argument);
  by->commit();
  EXPECT_TRUE(is_there("people"));
}

/// Maps each table to the number of its rows and the names of its indexes.
using Model = std::map<std::string, std::pair<int, std::set<std::string>>>;

TEST_F(TableCatalogTest, AtRandomAcrossCrashes) {
  Random random(palimpsest::test::seed());
  Model committed;
  for (palimpsest::test::Rounds rounds(60, 4); rounds.next();) {
    Model model = committed;
    {
      const auto by = begin_definer();
      for (std::uint64_t step = random.below(5); step-- > 0;) {
        const std::string name = fmt::format("table {}", random.below(3));
        const bool there = model.contains(name);
        switch (random.below(4)) {
          case 0:
            ASSERT_EQ(tables().create_table(*by, people(name)).is_done(), !there);
            model.try_emplace(name);
            break;
          case 1:
            ASSERT_EQ(tables().drop_table(*by, name).is_done(), there);
            model.erase(name);
            break;
          case 2: {
            const IndexSchema& index = random.below(2) == 0 ? kByName : kByAge;
            const bool made = tables().create_index(*by, name, index).is_done();
            ASSERT_EQ(made, there && !model[name].second.contains(index.name));
            there ? static_cast<void>(model[name].second.insert(index.name))
                  : static_cast<void>(model.erase(name));
            break;
          }
          default:
            if (there && model[name].second.empty()) {
              int& rows = model[name].first;
              fill(name, rows, rows + 50, by);
              rows += 50;
            }
        }
      }
      if (random.below(3) != 0) {
        by->commit();
        committed = model;
      }
    }
    for (std::uint64_t steps = random.below(20); steps-- > 0;) {
      database_->tree_pool().step();
    }
    if (random.below(6) == 0) {
      crash(random.below(2) == 0 ? CrashKeeps::nothing : CrashKeeps::everything);
    }
    ASSERT_TRUE(tables_agree(*database_));
    ASSERT_EQ(tables().all().size(), committed.size());
    for (const auto& [name, table] : committed) {
      ASSERT_TRUE(is_there(name));
      ASSERT_EQ(records_of(*definition(name).rows), static_cast<std::size_t>(table.first));
      ASSERT_EQ(definition(name).indexes.size(), table.second.size());
      for (const btree::BTree* index : definition(name).indexes) {
        ASSERT_EQ(records_of(*index), static_cast<std::size_t>(table.first));
      }
    }
  }
  empty_trees();
  EXPECT_TRUE(sound(*database_));
}

}  // namespace
}  // namespace palimpsest::engine::test
