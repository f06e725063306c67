// What becomes of a table's columns: Transaction::alter_table().
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
  /// All columns that the table is to have, in order. One that it has already, under this name or a
  /// renamed one, keeps its values, which are written as if they were new: an int32 becomes an
  /// int64, a varchar another one that has room for all texts there are, a float64 the float32 next
  /// to it. The key's stay, types included.
  /// New ones are null. Those that are not named here are gone.
  std::vector<ColumnDefinition> columns{};
  /// Columns that have another name from now on; the key and indexes go with them.
  std::vector<ColumnRename> renamed{};
};

/// Makes a row of the new columns, in their order, from what it was: those that stay are set
/// already. What it sets views the row, or memory that lives until it is called again. It may use
/// the engine, in no transaction or another one: calls of its own throw invalid_argument. What it
/// throws ends the alteration.
using ConvertRow = FunctionRef<void(const RowView& before, std::span<Value> row)>;

}  // namespace palimpsest
