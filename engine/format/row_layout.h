// The layout of a table's rows, which are the values of the clustered tree. Key columns are not in
// the row, they are in the key (key_codec.h).
//
// Computed once from a schema. Fixed columns have fixed offsets, so that a column is read by one
// load and updated in place, and C++ structs are copied to and from rows (palimpsest/struct_map.h).
// The end of the last variable column is the row's end: the rows of a table with one column of
// bytes, never null, are exactly these bytes.
//
// On disk (little-endian, nothing is aligned):
//   0  (n + 7) / 8   nulls: bit i % 8 of byte i / 8 is set if the i-th nullable column is null; n
//                    of the columns beside the key are nullable; the bits above are zero. No byte
//                    if n is 0
//   .  each          the fixed columns in declared order, zero if null:
//                      boolean 1: 0 or 1       int8 1    int16 2    int32 4    int64 8
//                      float32 4, float64 8: IEEE 754  date 4: days since 1970-01-01
//                      timestamp 8: microseconds since 1970-01-01, UTC
//                      decimal 8 for up to 18 digits, 16 for more: the unscaled integer
//                      character length: padded with spaces, which are not significant
//   .  2 or 4 each   where each variable column (varchar, bytes) but the last ends, counted from
//                    the end of this array; 2 bytes if the declared lengths of all variable columns
//                    have a sum of at most 65535, 4 otherwise
//   .  rest          the bytes of the variable columns in declared order, none if null
// The format has the version of the catalog's record (schema_format.h).
//
// Invariants: (1) the fixed columns of a row that fits() are within it; (2) variable columns are
// cut to the row, whatever its offsets say.
// Failure: values that do not fit their columns, and rows of more than kRowBytesMax, throw Error
// invalid_argument, naming table and column, before any row is changed; the output is undefined
// then. For rows from disk, which may be damaged: fits() makes all reading safe, validate() also
// checks that the row is one of this table.
// Thread-safety: immutable.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"
#include "palimpsest/value_editor.h"

#include "base/bytes.h"
#include "engine/format/column_value.h"

namespace palimpsest::engine {

static_assert(std::endian::native == std::endian::little,
              "integers in rows are read in the byte order of the processor");

/// Where a column is found.
enum class PlaceKind : std::uint8_t {
  key = 1,   ///< not in the row: `offset` is its number among the key's columns
  fixed,     ///< at byte `offset` of the row, `width` bytes long
  variable,  ///< `offset` is its number among the variable columns
};

inline constexpr std::uint16_t kNeverNull = 0xFFFF;

/// The location of one column. Small and copied freely.
struct ColumnPlace {
  std::uint32_t offset = 0;
  std::uint32_t width = 0;              ///< bytes; 0 unless fixed
  std::uint16_t null_bit = kNeverNull;  ///< in the bitmap that the row begins with
  PlaceKind kind = PlaceKind::key;
  ColumnType type = ColumnType::bytes;
};
static_assert(sizeof(ColumnPlace) == 12);

/// A new value for a column, by its number in the schema.
struct ColumnChange {
  std::size_t column = 0;
  Value value{};
};

class RowLayout {
 public:
  /// The schema is valid.
  explicit RowLayout(const TableSchema& schema);

  /// The table's name, for messages.
  [[nodiscard]] const std::string& table() const noexcept { return table_; }
  [[nodiscard]] std::size_t column_count() const noexcept { return columns_.size(); }
  [[nodiscard]] const ColumnDefinition& column(std::size_t number) const noexcept {
    return columns_[number];
  }
  /// The number of the column of that name; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view name) const noexcept;
  [[nodiscard]] const ColumnPlace& place(std::size_t column) const noexcept {
    return places_[column];
  }
  /// The size of the shortest row.
  [[nodiscard]] std::uint32_t bytes_min() const noexcept { return variable_begin_; }
  /// Where the array of ends of the variable columns begins, and the bytes of each end.
  [[nodiscard]] std::uint32_t ends_begin() const noexcept { return offsets_begin_; }
  [[nodiscard]] std::uint32_t end_bytes() const noexcept { return offset_bytes_; }

  /// The row of these values, one for each column of the schema in declared order; those of key
  /// columns are ignored. Retains the capacity of `row`.
  void encode(std::span<const Value> values, std::string& row) const {
    encode(values, in_row_, row);
  }
  /// As above, for some of the row's columns, by their numbers, including all variable ones. The
  /// bytes of other fixed columns are zero: the caller writes them.
  void encode(std::span<const Value> values, std::span<const std::size_t> columns,
              std::string& row) const;

  /// Whether a row is long enough to be read at all: O(1), called once per row.
  [[nodiscard]] bool fits(ByteView row) const noexcept { return row.size() >= variable_begin_; }
  /// Why the bytes are no row of this table; nothing if they are one. Safe for any bytes.
  [[nodiscard]] std::optional<std::string> validate(ByteView row) const;

  // Reading a row that fits(), by the places of columns that are not the key's:

  [[nodiscard]] static bool is_null(ByteView row, const ColumnPlace& place) noexcept {
    if (place.null_bit == kNeverNull) {
      return false;
    }
    const unsigned nulls = static_cast<unsigned char>(row[place.null_bit / 8U]);
    return (nulls >> place.null_bit % 8U & 1U) != 0;
  }
  /// The text of a character column, without padding.
  [[nodiscard]] static ByteView padded(ByteView row, const ColumnPlace& place) noexcept {
    return without_padding(row.substr(place.offset, place.width));
  }
  /// The bytes of a variable column; empty if null.
  [[nodiscard]] ByteView variable(ByteView row, const ColumnPlace& place) const noexcept;
  /// Any column, by its number. Bytes are a view of the row. Throws corruption for a decimal with
  /// more digits than its column has.
  [[nodiscard]] Value value(ByteView row, std::size_t column) const;

  // Changing a row that fits(). The columns are distinct, and not the key's:

  /// Whether the changes can be made in place: all columns are fixed.
  [[nodiscard]] bool are_in_place(std::span<const ColumnChange> changes) const noexcept;
  /// Makes changes that can be made in place; if it throws, nothing has changed.
  void change_in_place(ValueEditor& row, std::span<const ColumnChange> changes) const;
  /// Makes a new row with any changes. `changed` is neither `row` nor memory that values view.
  void change(ByteView row, std::span<const ColumnChange> changes, std::string& changed) const;

 private:
  /// Sets or clears the null bit only.
  static void mark_null(char* row, const ColumnPlace& place, bool null) noexcept {
    if (place.null_bit != kNeverNull) {
      const unsigned bit = 1U << place.null_bit % 8U;
      char& byte = row[place.null_bit / 8U];
      const auto others = static_cast<unsigned char>(byte) & ~bit;
      byte = static_cast<char>(null ? others | bit : others);
    }
  }
  void require_changes(std::span<const ColumnChange> changes) const;
  void store(char* row, std::size_t column, const Value& value) const noexcept;
  template <class BytesOf>
  void require_room(const BytesOf& bytes_of) const;
  template <class BytesOf>
  void append_variable(std::string& row, const BytesOf& bytes_of) const;
  [[nodiscard]] std::size_t end_of(ByteView row, std::size_t variable) const noexcept;
  [[nodiscard]] bool is_plain_decimal(ByteView row, std::size_t column) const noexcept;
  [[nodiscard]] std::optional<std::string> fault_of_fixed(ByteView row, std::size_t column) const;
  [[nodiscard]] std::optional<std::string> fault_of_variable(ByteView row) const;
  [[nodiscard]] bool has_unused_bits(ByteView row) const noexcept;

  std::string table_;  ///< for messages
  std::vector<ColumnDefinition> columns_;
  std::vector<ColumnPlace> places_;    ///< one for each column
  std::vector<std::size_t> in_row_;    ///< the numbers of the columns that are not the key's
  std::vector<std::size_t> variable_;  ///< the numbers of the variable columns
  std::vector<std::size_t> judged_;    ///< fixed columns that must be validated
  std::uint32_t nullable_count_ = 0;   ///< of columns in the row
  std::uint32_t offsets_begin_ = 0;    ///< where the array of ends begins
  std::uint32_t offset_bytes_ = 2;     ///< of each of its elements
  std::uint32_t variable_begin_ = 0;   ///< where the variable columns begin
};

}  // namespace palimpsest::engine
