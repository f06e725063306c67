// Rows as a table stores them, written column by column to where they lie: what RowEncoder makes of
// Values, for who makes so many rows that a Value for each column takes too long.
//
//   std::optional<RowWriter> row = RowWriter::of(accounts);  // once
//   row->begin(rows);                                        // behind what the string has
//   bool fits = row->set_integer(0, 7) && row->set_text(1, "Ada") && row->set_decimal(2, 1250);
//   const std::size_t row_bytes = row->end();
//   accounts.insert(transaction, EncodedRow::of(...)).require();
//
// Not all tables have one: a key's columns have fixed widths then, and are never null.
// Invariants: (1) a row sets each column, once, and then ends; or it is dropped
//             (2) nobody else changes the string in between
// Thread-safety: belongs to one thread.
// Failure: a set_...() is false for what is no value of its column, and has set nothing; set() and
//          end() throw Error invalid_argument, which names table, column and limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

namespace palimpsest {

class Table;

class RowWriter {
 public:
  /// Of rows of a schema that is valid. Nothing if its rows cannot be written so.
  [[nodiscard]] static std::optional<RowWriter> of(const TableSchema& schema);
  /// Of this table as it is now. Nothing also if keys may be longer than it takes. Throws not_found
  /// for a table that is not there.
  [[nodiscard]] static std::optional<RowWriter> of(const Table& table);

  /// The next row comes behind what the string has: its key, and then its bytes.
  void begin(std::string& rows) {
    rows_ = &rows;
    begin_ = rows.size();
    rows.resize(begin_ + head_bytes_);
    head_ = rows.data() + begin_;
  }

  // By a column's number, in declared order.

  /// Of int8 to int64.
  [[nodiscard]] bool set_integer(std::size_t column, std::int64_t value) noexcept {
    const Place& place = places_[column];
    const auto sign = value >> (place.bits - 1U);
    if (place.holds != ValueKind::integer || (sign != 0 && sign != -1)) {
      return false;
    }
    store(place, value);
    return true;
  }
  /// Of decimals of at most 18 digits: the integer that all digits of its scale are.
  [[nodiscard]] bool set_decimal(std::size_t column, std::int64_t unscaled) noexcept {
    const Place& place = places_[column];
    if (place.holds != ValueKind::decimal || unscaled <= -place.end || unscaled >= place.end) {
      return false;
    }
    store(place, unscaled);
    return true;
  }
  [[nodiscard]] bool set_date(std::size_t column, Date value) noexcept {
    const Place& place = places_[column];
    if (place.holds != ValueKind::date) {
      return false;
    }
    store(place, value.days_since_1970());
    return true;
  }
  /// Of varchar and bytes. The text stays where it is until end().
  [[nodiscard]] bool set_text(std::size_t column, std::string_view text) noexcept {
    const Place& place = places_[column];
    if (place.holds != ValueKind::bytes || text.size() > place.text_bytes_max) {
      return false;
    }
    texts_[place.offset] = text;
    return true;
  }
  /// Where the text of a column of type character is to be written, with spaces behind it; empty
  /// for other columns.
  [[nodiscard]] std::span<char> padded(std::size_t column) noexcept {
    const Place& place = places_[column];
    return {head_ + place.offset, place.padded_bytes};
  }
  /// Any value of any column.
  void set(std::size_t column, const Value& value);

  /// The row has all its columns: how many bytes it has, beside its key. Dropped if it throws.
  std::size_t end() {
    std::size_t size = head_bytes_ - key_bytes_;
    for (const std::string_view text : texts_) {
      size += text.size();
    }
    if (size > kRowBytesMax) [[unlikely]] {
      refuse_size(size);
    }
    append_texts();
    return size;
  }
  /// There is no such row.
  void drop() { rows_->resize(begin_); }

  [[nodiscard]] std::size_t key_bytes() const noexcept { return key_bytes_; }

 private:
  static constexpr std::uint16_t kNeverNull = 0xFFFF;

  /// Where a column is.
  struct Place {
    std::uint32_t offset = 0;          ///< behind the key's first byte; of a text: its number
    std::uint32_t padded_bytes = 0;    ///< of a column of type character
    std::uint32_t text_bytes_max = 0;  ///< of a text
    std::uint16_t null_bit = kNeverNull;
    std::uint8_t bits = 64;  ///< of the integer that it is stored as, but for 128
    bool in_key = false;
    ValueKind holds = ValueKind::null;  ///< null: what set() alone takes
    std::int64_t end = 0;               ///< of a decimal: the first integer that is too large
  };

  explicit RowWriter(const TableSchema& schema) : schema_(schema) {}

  void store(const Place& place, std::int64_t value) noexcept {
    auto bits = static_cast<std::uint64_t>(value);
    if (place.in_key) {  // in an order of bytes
      bits ^= std::uint64_t{1} << (place.bits - 1U);
      bits = __builtin_bswap64(bits) >> (64U - place.bits);
    }
    char* const into = head_ + place.offset;
    switch (place.bits) {
      case 64: std::memcpy(into, &bits, 8); return;
      case 32: std::memcpy(into, &bits, 4); return;
      case 16: std::memcpy(into, &bits, 2); return;
      default: std::memcpy(into, &bits, 1); return;
    }
  }
  void append_texts() {
    std::size_t end = 0;
    for (std::size_t number = 0; number < texts_.size(); ++number) {
      const std::string_view text = texts_[number];
      rows_->append(text);
      end += text.size();
      if (number + 1 < texts_.size()) {
        std::memcpy(rows_->data() + begin_ + ends_begin_ + number * end_bytes_, &end, end_bytes_);
      }
    }
  }
  void set_null(const Place& place) noexcept;
  void set_character(const Place& place, std::string_view text) noexcept;
  [[noreturn]] void refuse_size(std::size_t bytes);

  TableSchema schema_;
  std::vector<Place> places_{};            ///< one for each column
  std::vector<std::string_view> texts_{};  ///< of the row
  std::size_t key_bytes_ = 0;
  std::size_t head_bytes_ = 0;  ///< of the key, and of what is before the texts
  std::size_t ends_begin_ = 0;  ///< where the texts' ends are, of all but the last one
  std::size_t end_bytes_ = 0;   ///< of each of these

  std::string* rows_ = nullptr;
  std::size_t begin_ = 0;  ///< of the row, in these
  char* head_ = nullptr;
};

}  // namespace palimpsest
