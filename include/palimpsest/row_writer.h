// Writes rows column by column directly in their stored form. A faster RowEncoder, for callers that
// make so many rows that a Value for each column takes too long.
//
//   std::optional<RowWriter> row = RowWriter::of(accounts);  // once
//   row->begin(rows);                                        // appends to the string
//   bool fits = row->set_integer(0, 7) && row->set_text(1, "Ada") && row->set_decimal(2, 1250);
//   const std::size_t row_bytes = row->end();
//   accounts.insert(transaction, EncodedRow::of(...)).require();
//
// Only for tables with key columns of fixed width; these are never null.
// Invariants: (1) between begin() and end() each column is set exactly once; or the row is dropped
//             (2) the caller does not change the string in between
// Thread-safety: belongs to one thread.
// Failure: a set_...() returns false, and sets nothing, if the value does not fit its column; set()
//          and end() throw Error invalid_argument, which names table, column and limit.
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
  /// For a valid schema. Nothing if its rows cannot be written so.
  [[nodiscard]] static std::optional<RowWriter> of(const TableSchema& schema);
  /// For this table as it is now. Nothing also if keys may be longer than the table takes. Throws
  /// not_found if the table does not exist.
  [[nodiscard]] static std::optional<RowWriter> of(const Table& table);

  /// Begins a row; appends its key, and then its bytes, to the string.
  void begin(std::string& rows) {
    rows_ = &rows;
    begin_ = rows.size();
    rows.resize(begin_ + head_bytes_);
    head_ = rows.data() + begin_;
  }

  // Setters take a column's number, in declared order.

  /// For int8 to int64.
  [[nodiscard]] bool set_integer(std::size_t column, std::int64_t value) noexcept {
    const Place& place = places_[column];
    const auto sign = value >> (place.bits - 1U);
    if (place.holds != ValueKind::integer || (sign != 0 && sign != -1)) {
      return false;
    }
    store(place, value);
    return true;
  }
  /// For decimals of at most 18 digits: the value without its point, at the column's scale.
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
  /// For varchar and bytes. The text is not copied: it must live until end().
  [[nodiscard]] bool set_text(std::size_t column, std::string_view text) noexcept {
    const Place& place = places_[column];
    if (place.holds != ValueKind::bytes || text.size() > place.text_bytes_max) {
      return false;
    }
    texts_[place.offset] = text;
    return true;
  }
  /// Where to write the text of a `character` column, padded with spaces; empty for other columns.
  [[nodiscard]] std::span<char> padded(std::size_t column) noexcept {
    const Place& place = places_[column];
    return {head_ + place.offset, place.padded_bytes};
  }
  /// Any value of any column.
  void set(std::size_t column, const Value& value);

  /// Ends the row after all columns are set; returns its size without the key. If it throws, the
  /// row is dropped.
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
  /// Discards the row.
  void drop() { rows_->resize(begin_); }

  [[nodiscard]] std::size_t key_bytes() const noexcept { return key_bytes_; }

 private:
  static constexpr std::uint16_t kNeverNull = 0xFFFF;

  /// The location of a column.
  struct Place {
    std::uint32_t offset = 0;          ///< from the key's first byte; for a text: its number
    std::uint32_t padded_bytes = 0;    ///< for a column of type character
    std::uint32_t text_bytes_max = 0;  ///< for a text
    std::uint16_t null_bit = kNeverNull;
    std::uint8_t bits = 64;  ///< of the stored integer; 64 also for wider ones
    bool in_key = false;
    ValueKind holds = ValueKind::null;  ///< null: only set() takes it
    std::int64_t end = 0;               ///< for a decimal: the first integer that is too large
  };

  explicit RowWriter(const TableSchema& schema) : schema_(schema) {}

  void store(const Place& place, std::int64_t value) noexcept {
    auto bits = static_cast<std::uint64_t>(value);
    if (place.in_key) {  // byte order is value order
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
  std::vector<std::string_view> texts_{};  ///< of the current row
  std::size_t key_bytes_ = 0;
  std::size_t head_bytes_ = 0;  ///< of the key and the part before the texts
  std::size_t ends_begin_ = 0;  ///< where the ends of the texts are stored, except the last one's
  std::size_t end_bytes_ = 0;   ///< of each of them

  std::string* rows_ = nullptr;
  std::size_t begin_ = 0;  ///< of the current row, in rows_
  char* head_ = nullptr;
};

}  // namespace palimpsest
