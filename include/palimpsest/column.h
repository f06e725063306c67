// A column of fixed width, found once and used for all rows of its table.
//
// It knows its place in a row and which columns the table had: a comparison and a load or a store
// are all that it costs.
// Thread-safety: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "palimpsest/schema.h"
#include "palimpsest/types.h"

namespace palimpsest {

namespace detail {

/// The column type of a C++ type whose values have a fixed width: 0 for others.
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

/// Which table it is and which columns it has, as a number made of the names and types: after
/// Transaction::alter_table() it is another one. 0: not known.
using LayoutNumber = std::uint64_t;

/// What a row knows of how its table stores rows: the engine's TableFormat.
struct RowFormat {
  LayoutNumber layout = 0;
};

/// Where a fixed column lies in a row.
struct FixedPlace {
  static constexpr std::uint16_t kNeverNull = 0xFFFF;

  std::uint32_t offset = 0;
  std::uint16_t null_bit = kNeverNull;  ///< in the bitmap that the row begins with
  bool may_change = false;              ///< in no index, and not in the key
  LayoutNumber layout = 0;              ///< of the rows that have it there

  /// Whether a row of that layout and so many bytes has this many of it there; its null bit lies
  /// before them. If not, the column is one of another table, or of the table before its columns
  /// were changed.
  [[nodiscard]] constexpr bool is_in(LayoutNumber row_layout, std::size_t row_bytes,
                                     std::size_t bytes) const noexcept {
    return layout == row_layout && std::size_t{offset} + bytes <= row_bytes;
  }
};

}  // namespace detail

/// The C++ types of columns of fixed width: bool, std::int8_t to std::int64_t, float, double, Date,
/// Timestamp. Columns of other types are read as Values.
template <class Type>
concept FixedType = detail::kFixedTypeOf<Type> != ColumnType{};

/// A column of fixed width, outside the key, found once by Table::column() and used for all rows of
/// that table. Copied freely. With a row of other columns it is refused: of another table, or of
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
