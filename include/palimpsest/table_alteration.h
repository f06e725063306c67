// A change of a table's columns, for Transaction::alter_table().
//
//   transaction.alter_table("account", {.columns = {{"id", int64()},
//                                                   {"holder", varchar(80)},
//                                                   {"balance", decimal(18, 2)},
//                                                   {"currency", character(3)}},
//                                       .renamed = {{.from = "owner", .to = "holder"}}},
//                           [&](const RowView& before, std::span<Value> row) { row[3] = "EUR"; });
//
// Thread-safety: plain values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "palimpsest/function_ref.h"
#include "palimpsest/schema.h"
#include "palimpsest/value.h"

namespace palimpsest {

class RowView;

struct ColumnRename {
  std::string from;
  std::string to;
};

struct TableAlteration {
  /// All columns that the table is to have, in order. A column that it already has, under this name
  /// or a renamed one, keeps its values, converted as if they were written anew: an int32 becomes
  /// an int64, a varchar another one that has room for all existing texts, a float64 the nearest
  /// float32. Key columns stay, types included. New columns are null. Columns that are not listed
  /// are dropped.
  std::vector<ColumnDefinition> columns{};
  /// Columns with a new name; the key and indexes follow.
  std::vector<ColumnRename> renamed{};
};

/// Converts a row: sets the new columns, in `row`, from the old row; columns that stay are already
/// set. Values may view the old row, or memory that lives until the next call. It may use the
/// engine outside of the altering transaction: calls within that throw invalid_argument. What it
/// throws ends the alteration.
using ConvertRow = FunctionRef<void(const RowView& before, std::span<Value> row)>;

}  // namespace palimpsest
