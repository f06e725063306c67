// A table in a small database, whose state and trees are made by hand, and the model of its
// contents: encoded keys and rows.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/table.h"

#include "engine/format/row_values.h"
#include "engine/table/row_cursor.h"
#include "engine/table/table_audit.h"
#include "engine/table/table_reader.h"
#include "engine/table/table_state.h"
#include "engine/table/table_writer.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;

class OneTable {
 public:
  explicit OneTable(TableSchema schema, std::vector<IndexSchema> indexes = {},
                    EngineOptions options = small_options())
      : schema_(std::move(schema)), indexes_(std::move(indexes)), options_(std::move(options)) {
    open();
  }

  void open() {
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options_);
    state_ = std::make_unique<TableState>(schema_.name);
    define(indexes_);
  }
  /// The power fails, and nothing that was not durable survives; all transactions must be gone
  /// before. Opens the database again.
  void crash() {
    lose_power(disk_, database_);
    open();
  }
  /// A definition with these indexes, which have their entries already.
  void define(const std::vector<IndexSchema>& indexes) {
    state_->change_to(definition(indexes));
    state_->end_change(true);
  }
  [[nodiscard]] std::unique_ptr<const TableDefinition> definition(
      const std::vector<IndexSchema>& indexes) {
    auto made = std::make_unique<TableDefinition>();
    made->rows = tree("rows");
    StoredTable stored{.schema = schema_, .tree = made->rows->id()};
    for (const IndexSchema& index : indexes) {
      made->add_index(*tree("index " + index.name));
      stored.indexes.push_back({.schema = index, .tree = made->indexes.back()->id()});
    }
    share_lives(*made, stored);
    made->format = std::make_shared<const TableFormat>(std::move(stored));
    return made;
  }

  [[nodiscard]] Engine& database() noexcept { return *database_; }
  [[nodiscard]] TableState& state() noexcept { return *state_; }
  [[nodiscard]] const TableDefinition& current() noexcept { return *state_->visible_to(nullptr); }
  [[nodiscard]] const TableFormat& format() noexcept { return *current().format; }
  [[nodiscard]] txn::TransactionPtr begin() { return database_->begin(); }
  /// Commits what work(transaction) has done if it returns true, else rolls it back; at `snapshot`,
  /// from any thread. The engine may cancel, or refuse to continue, a transaction that holds back
  /// the log or versions, or that needs more of these than there is space for.
  template <class Work>
  void transact(txn::SnapshotUse use, const Work& work) {
    const auto transaction =
        database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot, use);
    try {
      if (work(transaction)) {
        transaction->commit();
        return;
      }
    } catch (const Error& error) {
      const bool holds_back = error.code() == ErrorCode::transaction_too_old ||
                              error.code() == ErrorCode::snapshot_too_old ||
                              error.code() == ErrorCode::version_budget_exceeded;
      EXPECT_TRUE(holds_back) << error.what();
    }
    transaction->rollback();
  }
  [[nodiscard]] RowStatements in(const txn::TransactionPtr& transaction) {
    return {*transaction, *state_};
  }
  [[nodiscard]] TableReader reads(txn::Transaction* in = nullptr) { return {in, *state_}; }

  /// One write, committed.
  template <class Write>
  void committed(const Write& write) {
    const auto transaction = begin();
    const Outcome outcome = write(in(transaction));
    ASSERT_TRUE(outcome.is_done()) << outcome.text();
    transaction->commit();
  }

  /// The rows by their keys.
  [[nodiscard]] Content rows() { return content_of(*current().rows); }
  /// Success if each index has exactly the entries of these rows, which are the table's, and if the
  /// audit agrees.
  [[nodiscard]] ::testing::AssertionResult indexes_are_of(const Content& rows) {
    for (std::size_t index = 0; index < format().indexes().size(); ++index) {
      Content entries;
      for (const auto& [key, bytes] : rows) {
        RowValues values;
        KeyMemory memory;
        const IndexEntry entry =
            format().indexes()[index].codec.encode(values.of(format(), key, bytes), key, memory);
        entries.emplace(entry.key, entry.value);
      }
      if (entries.size() != rows.size() || content_of(*current().indexes[index]) != entries) {
        return ::testing::AssertionFailure()
               << "index \"" << format().stored().indexes[index].schema.name
               << "\" has other entries than the " << rows.size() << " rows";
      }
    }
    const TableAudit audit = audit_table(current());
    return audit.sound() ? ::testing::AssertionSuccess()
                         : ::testing::AssertionFailure() << audit.text();
  }

 private:
  /// The new definition shares the state of the old one, as in definitions that a catalog makes.
  void share_lives(TableDefinition& made, const StoredTable& stored) {
    const TableDefinition* const before = state_->visible_to(nullptr);
    if (before == nullptr) {
      return;
    }
    made.life = before->life;
    const auto& earlier = before->format->stored().indexes;
    for (std::size_t number = 0; number < stored.indexes.size(); ++number) {
      for (std::size_t other = 0; other < earlier.size(); ++other) {
        if (stored.indexes[number].schema == earlier[other].schema) {
          made.index_lives[number] = before->index_lives[other];
        }
      }
    }
  }
  [[nodiscard]] btree::BTree* tree(const std::string& name) {
    btree::BTree* found = database_->find_tree(name);
    return found != nullptr ? found : database_->make_tree(name);
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  TableSchema schema_;
  std::vector<IndexSchema> indexes_;
  EngineOptions options_;
  std::unique_ptr<Engine> database_;
  std::unique_ptr<TableState> state_;
};

/// People with a number, a unique name and a city.
[[nodiscard]] inline TableSchema people() {
  return {.name = "people",
          .columns = {{"id", types::int32()},
                      {"name", types::varchar(40)},
                      {"city", types::nullable(types::varchar(40))},
                      {"age", types::int32()},
                      {"note", types::varchar(100'000)}},
          .key = {"id"}};
}
[[nodiscard]] inline std::vector<IndexSchema> indexes_of_people() {
  return {{.name = "by_city", .columns = {"city", "age"}},
          {.name = "by_name", .columns = {"name"}, .unique = true}};
}

}  // namespace palimpsest::engine::test
