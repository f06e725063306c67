// Changes the columns of tables at random, beside a model of their rows: alterations that commit
// and that do not, writes between them, and the database closed and opened.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;

Options small() {
  Options options;
  options.memory_bytes = std::uint64_t{16} << 20U;
  options.durability = Durability::asynchronous;
  return options;
}

/// A table with columns of int64 and texts beside its key, and its expected rows.
class AlteredModel {
 public:
  explicit AlteredModel(Database& database, std::uint64_t seed)
      : database_(database), random_(seed) {
    columns_ = {{"k", int64()}};
    database_.create_table({.name = "m", .columns = columns_, .key = {"k"}});
  }

  void write_some() {
    database_.run([&](Transaction& by) { write_some(by); });
  }
  /// Some alterations in one bulk, and rows between them; the model adopts them if the bulk
  /// commits.
  void alter(bool commits) {
    const auto before_rows = rows_;
    const auto before_columns = columns_;
    Transaction by = database_.begin({.bulk = true});
    for (std::uint64_t step = 1 + random_.below(3); step > 0; --step) {
      alter_once(by);
      if (random_.below(2) == 0) {
        write_some(by);
      }
    }
    if (commits) {
      by.commit();
    } else {
      by.rollback();
      rows_ = before_rows;
      columns_ = before_columns;
    }
  }
  void check() {
    const Table table = database_.table("m");
    ASSERT_EQ(table.schema().columns, columns_);
    auto expected = rows_.begin();
    for (Cursor cursor = table.cursor(); cursor.valid(); cursor.next(), ++expected) {
      ASSERT_NE(expected, rows_.end());
      ASSERT_EQ(cursor.row()["k"].as_integer(), expected->first);
      for (const ColumnDefinition& column : columns_) {
        ASSERT_EQ(cursor.row()[column.name], value_of(expected->first, column))
            << column.name << " of row " << expected->first;
      }
    }
    ASSERT_EQ(expected, rows_.end());
  }

 private:
  using Columns = std::map<std::string, std::string>;  ///< texts; integers as texts; null: none

  [[nodiscard]] Value value_of(std::int64_t key, const ColumnDefinition& column) const {
    if (column.name == "k") {
      return key;
    }
    const Columns& row = rows_.at(key);
    const auto found = row.find(column.name);
    if (found == row.end()) {
      return {};
    }
    return column.type.type == ColumnType::int64 ? Value(std::stoll(found->second))
                                                 : Value(found->second);
  }
  void write_some(Transaction& by) {
    const Table table = by.table("m");
    for (std::uint64_t count = random_.below(200); count > 0; --count) {
      const auto key = static_cast<std::int64_t>(random_.below(400));
      if (random_.below(4) == 0) {
        static_cast<void>(table.erase(by, {key}));
        rows_.erase(key);
        continue;
      }
      Columns row;
      for (const ColumnDefinition& column : columns_) {
        if (column.name != "k" && random_.below(4) != 0) {
          row[column.name] = column.type.type == ColumnType::int64
                                 ? fmt::format("{}", random_.below(1000))
                                 : std::string(random_.below(30), 'x');
        }
      }
      rows_[key] = std::move(row);
      std::vector<Value> values;
      values.reserve(columns_.size());
      for (const ColumnDefinition& column : columns_) {
        values.push_back(value_of(key, column));
      }
      table.upsert(by, values).require();
    }
  }
  [[nodiscard]] ColumnDefinition new_column() {
    const std::string name = fmt::format("c{}", next_++);
    return {name, nullable(random_.below(2) == 0 ? int64() : varchar(50))};
  }
  void alter_once(Transaction& by) {
    const std::uint64_t what = random_.below(4);
    if (what == 0 || columns_.size() == 1) {
      const ColumnDefinition column = new_column();
      const bool has_value = random_.below(2) == 0;
      const Value value = column.type.type == ColumnType::int64 ? Value(17) : Value("17");
      by.add_column("m", column, has_value ? value : Value()).require();
      columns_.push_back(column);
      for (auto& [key, row] : rows_) {
        if (has_value) {
          row[column.name] = "17";
        }
      }
      return;
    }
    const std::size_t at = 1 + random_.below(columns_.size() - 1);
    const std::string name = columns_[at].name;
    if (what == 1) {
      by.drop_column("m", name).require();
      columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(at));
      for (auto& [key, row] : rows_) {
        row.erase(name);
      }
      return;
    }
    const std::string renamed = fmt::format("c{}", next_++);
    if (what == 2) {
      by.rename_column("m", name, renamed).require();
      columns_[at].name = renamed;
    } else {
      columns_[at].name = renamed;
      std::shuffle(columns_.begin() + 1, columns_.end(), random_);
      by.alter_table("m", {.columns = columns_, .renamed = {{name, renamed}}}).require();
    }
    for (auto& [key, row] : rows_) {
      if (auto node = row.extract(name)) {
        node.key() = renamed;
        row.insert(std::move(node));
      }
    }
  }

  Database& database_;
  Random random_;
  std::vector<ColumnDefinition> columns_;
  std::map<std::int64_t, Columns> rows_;
  int next_ = 0;
};

TEST(AlterTableModel, RowsAreWhatTheModelSays) {
  const test::TemporaryDirectory directory;
  Database database = Database::open(directory.path(), small());
  AlteredModel model(database, test::seed());
  Random random(test::seed() + 1);
  for (test::Rounds rounds(150); rounds.next() && !::testing::Test::HasFailure();) {
    switch (random.below(8)) {
      case 0:
        database.close();
        database = Database::open(directory.path(), small());
        break;
      case 1: model.alter(false); break;
      case 2:
      case 3: model.write_some(); break;
      default: model.alter(true); break;
    }
    ASSERT_NO_FATAL_FAILURE(model.check());
  }
}

}  // namespace
}  // namespace palimpsest
