// A table with rows and an index, bulks of it, and its content as a map.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/bulk_rows.h"
#include "engine/table/table_reader.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/table/row_statements.h"
#include "tests/support/crash_images.h"

namespace palimpsest::engine::test {

struct StoredRow {
  std::string name;
  std::string body;

  friend bool operator==(const StoredRow&, const StoredRow&) = default;
};
using Rows = std::map<int, StoredRow>;

/// A transaction and its bulk.
struct InBulk {
  explicit InBulk(Engine& database, txn::Isolation isolation = txn::Isolation::snapshot,
                  txn::Durability durability = txn::Durability::synchronous)
      : in(database.begin(durability, isolation)),
        bulk(std::make_unique<Bulk>(database.transactions(), database.tables(), *in)) {}

  Outcome write(const TableState& table, FunctionRef<Outcome(const TableWriter&)> write) {
    return bulk->write(table, write);
  }
  void commit() {
    bulk->publish();
    in->commit();
  }

  txn::TransactionPtr in;
  std::unique_ptr<Bulk> bulk;
};

inline EngineOptions bulk_options() {
  EngineOptions options = small_options();
  options.definition_patience = std::chrono::milliseconds(20);
  options.memory_bytes = std::uint64_t{16} << 20U;
  return options;
}

inline const IndexSchema kByName{.name = "by_name", .columns = {"name"}, .unique = true};

inline TableSchema people(const std::string& name) {
  using namespace palimpsest::types;
  return {.name = name,
          .columns = {{"id", int32()}, {"name", varchar(100)}, {"body", varchar(4000)}},
          .key = {"id"}};
}

inline std::string name_of(int id, int variant) {
  return fmt::format("name {:06} {}", id, variant);
}

class BulkRows : public ::testing::Test {
 protected:
  explicit BulkRows(const EngineOptions& options = bulk_options()) : options_(options) {
    open();
    const auto by = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
    EXPECT_TRUE(database_->tables().create_table(*by, people("people")));
    EXPECT_TRUE(database_->tables().create_index(*by, "people", kByName));
    by->commit();
    use("people");
  }

  void open() {
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options_);
    use(table_name_);
  }
  void open_after_crash(const palimpsest::test::SimDisk& disk) {
    database_.reset();
    disk_ = disk;
    open();
  }
  /// The following calls use this table.
  void use(const std::string& name) {
    table_name_ = name;
    table_ = database_->tables().find(name, nullptr);
  }
  /// A table without an index, so that all of a row lies in one tree.
  void make_plain() {
    const auto by = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
    EXPECT_TRUE(database_->tables().create_table(*by, people("plain")));
    by->commit();
    use("plain");
  }
  [[nodiscard]] const TableState& table() const { return *table_; }
  [[nodiscard]] txn::TransactionPtr begin(txn::Isolation isolation = txn::Isolation::snapshot) {
    return database_->begin(txn::Durability::asynchronous, isolation);
  }

  // In a bulk or in an ordinary transaction:

  [[nodiscard]] Outcome insert(auto& by, int id, int variant, const std::string& body = "body") {
    const std::string name = name_of(id, variant);
    return write(by, [&](const TableWriter& writes) {
      return writes.insert({id, std::string_view(name), std::string_view(body)});
    });
  }
  [[nodiscard]] Outcome update(auto& by, int id, int variant, const std::string& body = "body") {
    const std::string name = name_of(id, variant);
    return write(by, [&](const TableWriter& writes) {
      return writes.update({id},
                           {{"name", std::string_view(name)}, {"body", std::string_view(body)}});
    });
  }
  [[nodiscard]] Outcome upsert(auto& by, int id, int variant, const std::string& body = "body") {
    const std::string name = name_of(id, variant);
    return write(by, [&](const TableWriter& writes) {
      return writes.upsert({id, std::string_view(name), std::string_view(body)});
    });
  }
  [[nodiscard]] Outcome erase(auto& by, int id) {
    return write(by, [&](const TableWriter& writes) { return writes.erase({id}); });
  }
  [[nodiscard]] ErasedRange erase_range(InBulk& bulk, const Range& range) {
    return bulk.bulk->erase_range(table(), range);
  }
  [[nodiscard]] ErasedRange erase_range(txn::Transaction& by, const Range& range) {
    return RowStatements(by, table()).erase_range(range);
  }
  [[nodiscard]] Outcome write(InBulk& bulk, FunctionRef<Outcome(const TableWriter&)> write) {
    return bulk.write(table(), write);
  }
  [[nodiscard]] Outcome write(txn::Transaction& by,
                              FunctionRef<Outcome(const TableWriter&)> write) {
    return TableWriter::statement(by, table(), write);
  }

  // What a transaction sees, null: a call without one

  [[nodiscard]] Rows rows_of(txn::Transaction* by, Direction direction = Direction::forward) {
    Rows rows;
    const auto visit = [&](const RowView& row) {
      rows.emplace(static_cast<int>(row["id"].as_integer()), stored_row(row));
      return true;
    };
    TableReader(by, table()).visit(Range::all(), visit, direction);
    return rows;
  }
  [[nodiscard]] std::optional<StoredRow> row_of(txn::Transaction* by, int id) {
    std::optional<StoredRow> found;
    static_cast<void>(
        TableReader(by, table()).read({id}, [&](const RowView& row) { found = stored_row(row); }));
    return found;
  }
  /// The id of the row to which the index leads.
  [[nodiscard]] std::optional<int> id_of(txn::Transaction* by, const std::string& name) {
    std::optional<int> found;
    static_cast<void>(
        TableReader(by, table())
            .read_by_index("by_name", {std::string_view(name)}, [&](const RowView& row) {
              found = static_cast<int>(row["id"].as_integer());
            }));
    return found;
  }

  /// Resolves what is possible, and undoes aborted bulks.
  void sweep() {
    while (database_->bulk_sweep().step()) {
      make_log_space();
    }
  }
  /// Makes all pages reusable that no transaction needs any more.
  void free_all() {
    make_log_space();
    database_->log().write_pending();
    database_->transactions().free_due();
    database_->log().write_pending();  // of large values, which commits have freed
    database_->space().complete_frees();
  }
  void make_log_space() {
    while (database_->checkpointer().step()) {
    }
  }

  /// Each crash leaves the table either as before the bulk or as the bulk made it, with all earlier
  /// commits; both occur.
  void expect_all_or_nothing(const std::vector<palimpsest::test::CrashImages::Image>& crashes,
                             const Rows& old, const Rows& changed) {
    std::size_t whole = 0;
    for (const auto& [disk, is_committed] : crashes) {
      open_after_crash(disk);
      const Rows rows = rows_of(nullptr);
      ASSERT_TRUE(rows == changed || (rows == old && !is_committed));
      whole += rows == changed ? 1U : 0U;
      sweep();
      EXPECT_TRUE(database_->bulk_epochs().is_empty());
      EXPECT_EQ(rows_of(nullptr), rows);
      ASSERT_TRUE(sound(*database_));
    }
    EXPECT_GT(whole, 0U);
    EXPECT_LT(whole, crashes.size());
  }

  [[nodiscard]] static StoredRow stored_row(const RowView& row) {
    return {std::string(row["name"].as_bytes()), std::string(row["body"].as_bytes())};
  }

  EngineOptions options_;
  palimpsest::test::SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  std::string table_name_ = "people";
  TablePtr table_;
};

}  // namespace palimpsest::engine::test
