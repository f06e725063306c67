// Tables as text, as `load --schema` takes it and `dump --schema` prints it:
//
//   id int64 primary key, name varchar(40), amount decimal(12,2), day date, note varchar null,
//   index by_day (day, id), unique index by_name (name)
//
//   item    = column | "primary key" columns | ["unique"] "index" name columns
//   column  = name type { "null" | "not null" | "primary key" }
//   columns = "(" name { "," name } ")"
//   type    = int8 | int16 | int32 | int64 | float | double | decimal(p) | decimal(p,s) | bool
//           | date | timestamp | char(n) | varchar | varchar(n) | bytes | bytes(n)
//
// All of it may stand in "create table NAME (...);". Types are also spelled as SQL does: tinyint,
// smallint, int, integer, bigint, serial, real, double precision, numeric, numeric(p,s), text,
// string, character varying(n), datetime, timestamptz, timestamp with time zone, blob, bytea,
// varbinary(n); and boolean, float32, float64, character. Lengths are in bytes. A name is a word of
// letters, digits, _ and characters beyond ASCII that does not begin with a digit, or anything in
// double quotes, a double quote in it doubled; the words primary, unique and index at the beginning
// of an item need the quotes to be a column's name. Words of the grammar are in any case; -- begins
// a comment to the end of the line.
// Failure: UsageError "schema, line L, column C: reason"; what Schema::validate() refuses, as it
//          says it.
// Thread-safety: functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/schema.h"

namespace palimpsest::load {

/// A table with its indexes.
struct TableText {
  TableSchema table{};
  std::vector<IndexSchema> indexes{};

  friend bool operator==(const TableText&, const TableText&) = default;
};

/// The table of that name that the text describes; valid.
[[nodiscard]] TableText parse_schema(std::string_view text, std::string_view table_name);

/// Text that parse_schema() reads as the same table, on one line.
[[nodiscard]] std::string text_of(const TableText& table);
/// "decimal(12,2)", "varchar null".
[[nodiscard]] std::string type_text_of(const DataType& type);
/// A name as schema texts spell it, in quotes if it needs them.
[[nodiscard]] std::string name_text_of(std::string_view name);

/// Names with commas between them, spelled as in a schema: what --columns takes. A `-` in place of
/// a name is an empty one. Throws UsageError.
[[nodiscard]] std::vector<std::string> parse_names(std::string_view text);

}  // namespace palimpsest::load
