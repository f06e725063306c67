// The columns and indexes of a table.
//
// A schema is a plain aggregate, written where the table is created:
//
//   using namespace palimpsest::types;
//   const TableSchema accounts{.name = "account",
//                              .columns = {{"id", int64()},
//                                          {"owner", varchar(40)},
//                                          {"balance", decimal(12, 2)},
//                                          {"closed", nullable(date())}},
//                              .key = {"id"}};
//   const IndexSchema by_owner{.name = "by_owner", .columns = {"owner"}};
//
// The plainest table is key_value_table("blobs"): key bytes and value bytes.
// Lengths are limits, not sizes: a text takes its own length. Some limits cannot be checked on the
// schema alone and are checked when a row is written: the lengths of its key, and of the row.
// Failure: validate() throws Error invalid_argument, which names table, column and limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/types.h"

namespace palimpsest {

/// The kind of values that a column holds. The numbers are part of the catalog's format.
enum class ColumnType : std::uint8_t {
  boolean = 1,
  int8,
  int16,
  int32,
  int64,
  float32,
  float64,
  decimal,    ///< `precision` digits, `scale` of them after the point
  date,       ///< a Date
  timestamp,  ///< a Timestamp
  character,  ///< text of `length` bytes: shorter text is padded with spaces that do not count
  varchar,    ///< text of at most `length` bytes; compared byte by byte
  bytes,      ///< any bytes, at most `length`; compared byte by byte
};

/// The type's name, as it is spelled in a schema: "int64", "character", "varchar".
[[nodiscard]] std::string_view name_of(ColumnType type) noexcept;

// Limits of schemas, keys and rows. What a page can hold limits keys further: to an eighth of it.
inline constexpr std::size_t kNameBytesMax = 127;             ///< of tables, columns, indexes
inline constexpr std::size_t kColumnsMax = 1000;              ///< of a table
inline constexpr std::size_t kKeyColumnsMax = 32;             ///< of a primary key or an index
inline constexpr std::size_t kIndexesMax = 64;                ///< of a table
inline constexpr std::uint32_t kCharacterBytesMax = 65'535;   ///< length of character
inline constexpr std::uint32_t kVarcharBytesMax = 1U << 30U;  ///< length of varchar and bytes
inline constexpr std::uint64_t kRowBytesMax = std::uint64_t{1} << 30U;  ///< of a row beside its key
inline constexpr std::size_t kKeyBytesMax = 8192;  ///< of a key in the largest pages

/// A column's type and its parameters; made by the functions in namespace types.
struct DataType {
  ColumnType type = ColumnType::bytes;
  std::uint32_t length = 0;     ///< bytes, for character, varchar, bytes; else 0
  std::uint32_t precision = 0;  ///< digits, for decimals; else 0
  std::uint32_t scale = 0;      ///< digits after the point, for decimals; else 0
  bool nullable = false;

  friend bool operator==(const DataType&, const DataType&) = default;
};

/// Its spelling: "decimal(12, 2)", "nullable(varchar(40))".
[[nodiscard]] std::string text_of(const DataType& type);

/// The types of columns, as they are spelled in schemas.
namespace types {

[[nodiscard]] constexpr DataType boolean() noexcept {
  return {.type = ColumnType::boolean};
}
[[nodiscard]] constexpr DataType int8() noexcept {
  return {.type = ColumnType::int8};
}
[[nodiscard]] constexpr DataType int16() noexcept {
  return {.type = ColumnType::int16};
}
[[nodiscard]] constexpr DataType int32() noexcept {
  return {.type = ColumnType::int32};
}
[[nodiscard]] constexpr DataType int64() noexcept {
  return {.type = ColumnType::int64};
}
[[nodiscard]] constexpr DataType float32() noexcept {
  return {.type = ColumnType::float32};
}
[[nodiscard]] constexpr DataType float64() noexcept {
  return {.type = ColumnType::float64};
}
/// 1 to 38 digits, `scale` of them after the point.
[[nodiscard]] constexpr DataType decimal(std::uint32_t precision,
                                         std::uint32_t scale = 0) noexcept {
  return {.type = ColumnType::decimal, .precision = precision, .scale = scale};
}
/// A Date.
[[nodiscard]] constexpr DataType date() noexcept {
  return {.type = ColumnType::date};
}
/// A Timestamp, in microseconds UTC.
[[nodiscard]] constexpr DataType timestamp() noexcept {
  return {.type = ColumnType::timestamp};
}
/// Text of at most so many bytes, padded to that length; spaces at its end do not count.
[[nodiscard]] constexpr DataType character(std::uint32_t length_bytes) noexcept {
  return {.type = ColumnType::character, .length = length_bytes};
}
/// Text of at most so many bytes, not characters; takes its own length.
[[nodiscard]] constexpr DataType varchar(std::uint32_t length_bytes_max) noexcept {
  return {.type = ColumnType::varchar, .length = length_bytes_max};
}
/// Any bytes, at most so many; takes its own length.
[[nodiscard]] constexpr DataType bytes(std::uint32_t length_bytes_max = kVarcharBytesMax) noexcept {
  return {.type = ColumnType::bytes, .length = length_bytes_max};
}
/// The same type, which may also be null.
[[nodiscard]] constexpr DataType nullable(DataType type) noexcept {
  type.nullable = true;
  return type;
}

}  // namespace types

/// A column: its name and its type.
struct ColumnDefinition {
  std::string name;
  DataType type{};

  friend bool operator==(const ColumnDefinition&, const ColumnDefinition&) = default;
};

/// A table: its columns and its primary key, which orders the rows and is unique.
struct TableSchema {
  std::string name;
  std::vector<ColumnDefinition> columns{};
  /// The names of the primary key's columns, the most significant first; not nullable.
  std::vector<std::string> key{};

  /// Throws invalid_argument for a schema that no table can have: names that are empty, too long,
  /// repeated or with control characters; parameters that a type does not have or that exceed a
  /// limit; no key; nullable key columns.
  void validate() const;
  /// The number of the column of that name, counted from 0 in declared order; nothing if there is
  /// none.
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view column) const noexcept;

  friend bool operator==(const TableSchema&, const TableSchema&) = default;
};

/// A secondary index: another order of a table's rows. Rows with equal values are in the order of
/// the primary key, which need not be named. The index's columns, with those of the primary key
/// unless it is unique, form keys as long as a table's may be. No key may be empty: a unique index
/// of one column, varchar or bytes and not nullable, refuses a row with an empty text there
/// (invalid_argument).
struct IndexSchema {
  std::string name;
  std::vector<std::string> columns{};  ///< their names, the most significant first; may be nullable
  /// No two rows have the same values in all of the columns; rows with a null there are exempt.
  bool unique = false;

  /// Throws invalid_argument for an index that this table, which is valid, cannot have.
  void validate(const TableSchema& table) const;

  friend bool operator==(const IndexSchema&, const IndexSchema&) = default;
};

/// A table of the columns "key" and "value", both bytes.
[[nodiscard]] TableSchema key_value_table(std::string name);

}  // namespace palimpsest
