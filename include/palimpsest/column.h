// A handle to a column of fixed width: looked up once, then used for every row of its table.
//
// The handle holds the column's offset in the row and the table's layout number, so that an access
// costs one comparison and one load or store.
// Thread-safety: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "palimpsest/schema.h"
#include "palimpsest/types.h"

namespace palimpsest {

namespace detail {

/// The column type of a fixed-width C++ type; 0 for any other type.
template <class Type>
inline constexpr ColumnType kFixedTypeOf{};
template <>
inline constexpr ColumnType kFixedTypeOf<bool> = ColumnType::boolean;
template <>
inline constexpr ColumnType kFixedTypeOf<std::int8_t> = ColumnType::int8;
template <>
inline constexpr ColumnType kFixedTypeOf<std::int16_t> = ColumnType::int16;
template <>
inline constexpr ColumnType kFixedTypeOf<std::int32_t> = ColumnType::int32;
template <>
inline constexpr ColumnType kFixedTypeOf<std::int64_t> = ColumnType::int64;
template <>
inline constexpr ColumnType kFixedTypeOf<float> = ColumnType::float32;
template <>
inline constexpr ColumnType kFixedTypeOf<double> = ColumnType::float64;
template <>
inline constexpr ColumnType kFixedTypeOf<Date> = ColumnType::date;
template <>
inline constexpr ColumnType kFixedTypeOf<Timestamp> = ColumnType::timestamp;

/// Identifies a table and its columns: a number computed from names and types.
/// Transaction::alter_table() gives the table another one. 0: unknown.
using LayoutNumber = std::uint64_t;

/// What a row knows of its table's storage format: base of the engine's TableFormat.
struct RowFormat {
  LayoutNumber layout = 0;
};

/// The location of a fixed-width column in a row.
struct FixedPlace {
  static constexpr std::uint16_t kNeverNull = 0xFFFF;

  std::uint32_t offset = 0;
  std::uint16_t null_bit = kNeverNull;  ///< in the bitmap at the beginning of the row
  bool may_change = false;              ///< false for columns of the key or of an index
  LayoutNumber layout = 0;              ///< of the rows that have the column here

  /// Whether a row of this layout and length has so many bytes here (its null bit lies before
  /// them). If not, the column belongs to another table, or to this one before its columns were
  /// altered.
  [[nodiscard]] constexpr bool is_in(LayoutNumber row_layout, std::size_t row_bytes,
                                     std::size_t bytes) const noexcept {
    return layout == row_layout && std::size_t{offset} + bytes <= row_bytes;
  }
};

}  // namespace detail

/// The C++ types of fixed-width columns: bool, std::int8_t to std::int64_t, float, double, Date,
/// Timestamp. Columns of other types are read as Values.
template <class Type>
concept FixedType = detail::kFixedTypeOf<Type> != ColumnType{};

/// A fixed-width column outside the key, looked up once by Table::column() and used for every row
/// of that table. Cheap to copy. Rows with other columns refuse it: rows of another table, or of
/// this one after Transaction::alter_table().
template <FixedType Type>
class Column {
 public:
  explicit constexpr Column(const detail::FixedPlace& place) noexcept : place_(place) {}
  [[nodiscard]] constexpr const detail::FixedPlace& place() const noexcept { return place_; }

 private:
  detail::FixedPlace place_;
};

}  // namespace palimpsest
