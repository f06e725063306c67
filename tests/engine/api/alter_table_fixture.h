// A table with some rows and an index, which tests alter.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/database.h"

#include "tests/support/temporary_directory.h"

namespace palimpsest::test {

inline TableSchema accounts() {
  return {.name = "account",
          .columns = {{"id", types::int64()},
                      {"owner", types::varchar(40)},
                      {"balance", types::int32()}},
          .key = {"id"}};
}

inline const IndexSchema kByOwner{.name = "by_owner", .columns = {"owner"}};

inline std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const ColumnDefinition& column : table.schema().columns) {
    names.push_back(column.name);
  }
  return names;
}

class AlterTableTest : public ::testing::Test {
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
  AlterTableTest() {
    database_.create_table(accounts());
    database_.run([](Transaction& by) { by.create_index("account", kByOwner).require(); });
  }
  void reopen() {
    database_.close();
    database_ = Database::open(directory_.path(), small());
  }
  [[nodiscard]] Table table() { return database_.table("account"); }
  [[nodiscard]] Transaction begin_bulk() { return database_.begin({.bulk = true}); }
  void fill(int rows) {
    const Table table = this->table();
    database_.run([&](Transaction& by) {
      for (int id = 0; id < rows; ++id) {
        const std::string owner = fmt::format("owner {:05}", id);
        table.insert(by, {id, owner, 10 * id}).require();
      }
    });
  }
  template <class Alter>
  Outcome altered(const Alter& alter) {
    Transaction by = begin_bulk();
    Outcome outcome = alter(by);
    if (outcome) {
      by.commit();
    }
    return outcome;
  }
  /// The row as text; empty if there is none.
  [[nodiscard]] std::string text_of(std::int64_t id) {
    const auto row = table().get({id});
    return row ? row->text() : "";
  }
  [[nodiscard]] std::size_t count_in(std::string_view table, std::string_view index,
                                     const Value& value) {
    std::size_t count = 0;
    for (Cursor cursor = database_.table(table).index(index).cursor(Range::prefix({value}));
         cursor.valid(); cursor.next()) {
      ++count;
    }
    return count;
  }
  [[nodiscard]] std::size_t count_by_owner() {
    std::size_t count = 0;
    for (Cursor cursor = table().index("by_owner").cursor(); cursor.valid(); cursor.next()) {
      ++count;
    }
    return count;
  }

  TemporaryDirectory directory_;
  Database database_ = Database::open(directory_.path(), small());
};

}  // namespace palimpsest::test
