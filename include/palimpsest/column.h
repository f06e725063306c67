// A column of fixed width, found once and used for all rows of its table.
//
// It knows its place in a row and not its table: a load or a store is all that it costs. So a row
// of another table can only be judged by its length.
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

/// Where a fixed column lies in a row.
struct FixedPlace {
  static constexpr std::uint16_t kNeverNull = 0xFFFF;

  std::uint32_t offset = 0;
  std::uint16_t null_bit = kNeverNull;  ///< in the bitmap that the row begins with
  bool may_change = false;              ///< in no index, and not in the key

  /// Whether a row of so many bytes has this many of it there; its null bit lies before them. If
  /// not, the column is one of another table, or of the table before it was made anew.
  [[nodiscard]] constexpr bool is_within(std::size_t row_bytes, std::size_t bytes) const noexcept {
    return std::size_t{offset} + bytes <= row_bytes;
  }
};

}  // namespace detail

/// The C++ types of columns of fixed width: bool, std::int8_t to std::int64_t, float, double, Date,
/// Timestamp. Columns of other types are read as Values.
template <class Type>
concept FixedType = detail::kFixedTypeOf<Type> != ColumnType{};

/// A column of fixed width, outside the key, found once by Table::column() and used for all rows of
/// that table. Copied freely. With a row of another table it shows, or sets, whatever lies at its
/// place, within the row; where the row has no such place, it is refused.
template <FixedType Type>
class Column {
 public:
  explicit constexpr Column(const detail::FixedPlace& place) noexcept : place_(place) {}
  [[nodiscard]] constexpr const detail::FixedPlace& place() const noexcept { return place_; }

 private:
  detail::FixedPlace place_;
};

}  // namespace palimpsest
