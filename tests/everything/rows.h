// Rows of the model as rows of tables, and back: the ids of the writes that have set a column
// determine its value.
//
// Columns of a table: its key, the ids, two indexed ones, a body, one whose name encodes the
// columns ("s<id>_<id of the first ones>"), and some that are added and removed ("x<id>").
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/database.h"

#include "tests/everything/world.h"

namespace palimpsest::everything {

inline constexpr std::int64_t kKeys = 2000;
inline constexpr std::size_t kEditedBodyMax =
    600;  ///< bytes: longer rows may not lie in their page

/// A body of some bytes, of thousands, or of very many.
[[nodiscard]] std::string body_of(Id body_id);
[[nodiscard]] std::size_t body_bytes(Id body_id);
[[nodiscard]] std::int64_t extra_value(Id full_id, Id column);

/// Values of a table's key; views it.
class KeyOf {
 public:
  explicit KeyOf(std::int64_t key);
  KeyOf(const KeyOf&) = delete;
  KeyOf& operator=(const KeyOf&) = delete;

  [[nodiscard]] Key key() const { return Key{part_, name_}; }
  [[nodiscard]] std::int64_t part() const { return part_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::int64_t part_;
  std::string name_;
};
[[nodiscard]] std::int64_t part_of(std::int64_t key);
/// So many consecutive keys have the same part.
inline constexpr std::int64_t kKeysOfPart = 16;

/// A table's columns, according to its schema.
struct TableColumns {
  Id schema = 0;
  Id made = 0;
  std::vector<Id> extras;
};
[[nodiscard]] TableColumns columns_of(const TableSchema& schema);
[[nodiscard]] std::string mark_name(Id schema, Id made);
[[nodiscard]] std::string extra_name(Id column);
[[nodiscard]] ColumnDefinition extra_column(Id column);
[[nodiscard]] TableSchema first_schema(const std::string& name, Id made);
/// The expected schema.
[[nodiscard]] TableSchema schema_of(std::uint32_t table, const World& world);

/// Values of all columns of a row that is written now.
class RowValues {
 public:
  RowValues(std::int64_t key, const RowState& row, const TableColumns& columns);
  RowValues(const RowValues&) = delete;
  RowValues& operator=(const RowValues&) = delete;

  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  KeyOf key_;
  std::string body_;
  std::vector<Value> values_;
};

[[nodiscard]] Id id_of(const RowView& row);
[[nodiscard]] std::int64_t key_of(const RowView& row);
/// The row's own fault: its body is not that of its write; empty: none.
[[nodiscard]] std::string fault_of(const RowView& row);
/// How it differs from the model; empty: not at all.
[[nodiscard]] std::string difference(const RowView& row, const RowState& expected,
                                     const TableModel& table, const World& world);

[[nodiscard]] IndexSchema index_schema(std::uint32_t index, Id id);
/// Parses an index's name: its number within the table, and its id.
[[nodiscard]] std::pair<std::uint32_t, Id> index_of(const std::string& name);

}  // namespace palimpsest::everything
