// Columns as C++ types: found once by name, and from then on one load or one store of a row.
//
// For code that knows its columns: it resolves a handle for each when it opens the table, keeps it
// as long as the layout, and reads and changes rows where they lie. Code that learns its columns at
// run time uses RowLayout::value() and ColumnChange instead. A whole struct at a time:
// row_struct.h.
//
//   const FixedColumn<std::int32_t> quantity(layout, "quantity");
//   quantity.set(row, quantity.get(row) - 10);
//
// Latching: reading and changing neither allocates nor throws nor looks beyond the row, and so may
// be done to a row in a page, under its latch. Rows fit() their layout, which is asked once for
// each row; one read optimistically may be torn: what is read is any value of its C++ type then.
// Failure: a handle of a column that does not exist, is of another type or is in the key throws
// Error invalid_argument, which names table and column; values with more digits or bytes than their
// column has are refused by set(), and nothing has changed.
// Thread-safety: handles are immutable and copied freely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "palimpsest/types.h"

#include "base/bytes.h"
#include "base/check.h"
#include "engine/tables/row_layout.h"

namespace palimpsest::engine {

namespace detail {

/// The column type of a C++ type whose values fixed columns hold: 0 for others.
template <class Type>
inline constexpr ColumnType kColumnTypeOf{};
template <>
inline constexpr ColumnType kColumnTypeOf<bool> = ColumnType::boolean;
template <>
inline constexpr ColumnType kColumnTypeOf<std::int8_t> = ColumnType::int8;
template <>
inline constexpr ColumnType kColumnTypeOf<std::int16_t> = ColumnType::int16;
template <>
inline constexpr ColumnType kColumnTypeOf<std::int32_t> = ColumnType::int32;
template <>
inline constexpr ColumnType kColumnTypeOf<std::int64_t> = ColumnType::int64;
template <>
inline constexpr ColumnType kColumnTypeOf<float> = ColumnType::float32;
template <>
inline constexpr ColumnType kColumnTypeOf<double> = ColumnType::float64;
template <>
inline constexpr ColumnType kColumnTypeOf<Date> = ColumnType::date;
template <>
inline constexpr ColumnType kColumnTypeOf<Timestamp> = ColumnType::timestamp;

/// The number of a row's column of that name and type. Throws invalid_argument if there is none.
[[nodiscard]] std::size_t require_column(const RowLayout& layout, std::string_view name,
                                         ColumnType type);

/// What handles of all types share: where the column is, and whether it is null.
class ColumnHandle {
 public:
  [[nodiscard]] bool is_null(ByteView row) const noexcept {
    return RowLayout::is_null(row, place_);
  }
  [[nodiscard]] bool is_nullable() const noexcept { return place_.null_bit != kNeverNull; }

 protected:
  ColumnHandle(const RowLayout& layout, std::string_view name, ColumnType type)
      : place_(layout.place(require_column(layout, name, type))) {}

  [[nodiscard]] const ColumnPlace& place() const noexcept { return place_; }
  /// Where the bytes of a fixed column are, which is no longer null.
  [[nodiscard]] char* change(MutableBytes row) const noexcept {
    char* const begin = start(row);
    RowLayout::mark_null(begin, place_, false);
    return begin + place_.offset;
  }
  void make_null(MutableBytes row) const noexcept {
    check(is_nullable(), "only a nullable column becomes null");
    char* const begin = start(row);
    RowLayout::mark_null(begin, place_, true);
    std::memset(begin + place_.offset, 0, place_.width);
  }

 private:
  [[nodiscard]] char* start(MutableBytes row) const noexcept {
    debug_check(row.size() >= place_.offset + place_.width, "a row has all fixed columns");
    return static_cast<char*>(static_cast<void*>(row.data()));
  }

  ColumnPlace place_;
};

}  // namespace detail

/// The C++ types of fixed columns: bool, std::int8_t to std::int64_t, float, double, Date,
/// Timestamp.
template <class Type>
concept FixedType = detail::kColumnTypeOf<Type> != ColumnType{};

template <FixedType Type>
class FixedColumn : public detail::ColumnHandle {
 public:
  FixedColumn(const RowLayout& layout, std::string_view name)
      : ColumnHandle(layout, name, detail::kColumnTypeOf<Type>) {}

  /// Zero if null.
  [[nodiscard]] Type get(ByteView row) const noexcept {
    return RowLayout::fixed<Type>(row, place());
  }
  /// Nothing if null.
  [[nodiscard]] std::optional<Type> get_nullable(ByteView row) const noexcept {
    return is_null(row) ? std::nullopt : std::optional<Type>(get(row));
  }
  void set(MutableBytes row, Type value) const noexcept {
    static_assert(std::is_trivially_copyable_v<Type>);
    std::memcpy(change(row), &value, sizeof value);
  }
  /// Of a column that is nullable.
  void set_null(MutableBytes row) const noexcept { make_null(row); }
};

/// A decimal: as the integer that is stored, under a latch, or as a Decimal.
class DecimalColumn : public detail::ColumnHandle {
 public:
  DecimalColumn(const RowLayout& layout, std::string_view name);

  /// Digits behind the point: what an unscaled 1 stands for is 10^-scale().
  [[nodiscard]] unsigned scale() const noexcept { return scale_; }
  /// Without its point; 0 if null. A damaged or torn row may have more digits than the column.
  [[nodiscard]] Int128 unscaled(ByteView row) const noexcept {
    if (place().width == sizeof(std::int64_t)) {
      return load<std::int64_t>(row);
    }
    return load<Int128>(row);
  }
  /// 0 if null. Not for optimistic reads: throws corruption if it has too many digits.
  [[nodiscard]] Decimal get(ByteView row) const;
  /// False if it has more digits than the column.
  [[nodiscard]] bool set_unscaled(MutableBytes row, Int128 unscaled) const noexcept;
  /// False if it has more digits than the column, on either side of the point.
  [[nodiscard]] bool set(MutableBytes row, const Decimal& value) const noexcept;
  /// Of a column that is nullable.
  void set_null(MutableBytes row) const noexcept { make_null(row); }

 private:
  template <class Integer>
  [[nodiscard]] Int128 load(ByteView row) const noexcept {
    debug_check(row.size() >= place().offset + place().width, "a row has all fixed columns");
    Integer integer;
    std::memcpy(&integer, row.data() + place().offset, sizeof integer);
    return integer;
  }

  Int128 end_;  ///< the first integer with too many digits
  unsigned scale_;
};

/// A text of the column's length at most, padded in the row: character.
class CharacterColumn : public detail::ColumnHandle {
 public:
  CharacterColumn(const RowLayout& layout, std::string_view name)
      : ColumnHandle(layout, name, ColumnType::character) {}

  /// Without spaces at its end; a view of the row. Empty if null.
  [[nodiscard]] ByteView get(ByteView row) const noexcept;
  /// False if it is longer than the column, spaces at its end not counted.
  [[nodiscard]] bool set(MutableBytes row, ByteView text) const noexcept;
  /// Of a column that is nullable.
  void set_null(MutableBytes row) const noexcept { make_null(row); }
};

/// A text or bytes as long as they are: varchar or bytes. Read only: their length changes the row's
/// (RowLayout::change()). The layout outlives the handle.
class VariableColumn : public detail::ColumnHandle {
 public:
  VariableColumn(const RowLayout& layout, std::string_view name);

  /// A view of the row, within it whatever its offsets say. Empty if null.
  [[nodiscard]] ByteView get(ByteView row) const noexcept {
    return layout_->variable(row, place());
  }

 private:
  const RowLayout* layout_;
};

}  // namespace palimpsest::engine
