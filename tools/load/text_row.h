// A row made of the texts of its fields, each written at once to where the row has it: no Value
// lies between them, unless a text is not plain.
//
// What is plain is known for each column beforehand; of a text that is not nothing is said here:
// parse_value() is asked, and its value is set.
// Thread-safety: belongs to one thread. Failure: as RowWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/row_writer.h"
#include "palimpsest/schema.h"
#include "palimpsest/types.h"

#include "tools/load/chunk_reader.h"
#include "tools/load/padded_text.h"
#include "tools/load/plain_date.h"
#include "tools/load/plain_number.h"
#include "tools/load/value_rules.h"

namespace palimpsest::load {

class TextRow {
 public:
  /// The writer is of this table.
  TextRow(RowWriter writer, const TableSchema& table, const ValueRules& rules = {});

  /// The row, for all but texts.
  [[nodiscard]] RowWriter& writer() noexcept { return writer_; }

  /// Sets a column to what a text is that is not null, if that is plain. Behind the text
  /// Chunk::kPaddingBytes can be read.
  [[nodiscard, gnu::always_inline]] bool set_plain(std::size_t column,
                                                   std::string_view text) noexcept {
    const Column& as = columns_[column];
    switch (as.form) {
      case Form::integer: return set_integer(column, text);
      case Form::exact_integer: return is_without_zeros(text) && set_integer(column, text);
      case Form::exact_decimal:
        return is_without_zeros(text) && set_decimal(column, text, as.scale);
      case Form::decimal: return set_decimal(column, text, as.scale);
      case Form::date:
        if (const auto date = plain_date(text)) [[likely]] {
          return writer_.set_date(column, *date);
        }
        return false;
      case Form::text: return writer_.set_text(column, text);
      case Form::padded: return pad(text, writer_.padded(column));
      case Form::other: break;
    }
    return false;
  }

 private:
  enum class Form : std::uint8_t {
    other = 0,
    integer,
    decimal,
    date,
    text,
    padded,
    exact_integer,  ///< of a type that was chosen: 007 is not 7
    exact_decimal,
  };
  struct Column {
    Form form = Form::other;
    std::uint8_t scale = 0;
  };

  /// Whether a number surely has no zero in front, and is not -0.
  static bool is_without_zeros(std::string_view text) noexcept {
    const char first = text[text.size() > 1 && text[0] == '-' ? 1 : 0];
    return first != '0' || text.size() == 1 || (text[0] == '0' && text[1] == '.');
  }
  /// A minus before a plain number.
  static bool take_minus(std::string_view& text) noexcept {
    const bool is_there = text[0] == '-';
    text.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }
  [[gnu::always_inline]] bool set_integer(std::size_t column, std::string_view text) noexcept {
    const bool is_negative = take_minus(text);
    const auto plain = padded_plain_number(text);
    return plain && plain->behind == 0 &&
           writer_.set_integer(column, is_negative ? -plain->digits : plain->digits);
  }
  [[gnu::always_inline]] bool set_decimal(std::size_t column, std::string_view text,
                                          std::size_t scale) noexcept {
    const bool is_negative = take_minus(text);
    const auto plain = padded_plain_number(text);
    if (!plain || plain->behind > scale || plain->before + scale > PlainNumber::kSizeMax) {
      return false;
    }
    const auto power =
        static_cast<std::int64_t>(palimpsest::detail::kPowersOfTen[scale - plain->behind]);
    const std::int64_t unscaled = plain->digits * power;
    return writer_.set_decimal(column, is_negative ? -unscaled : unscaled);
  }

  static_assert(kNumberPaddingBytes <= Chunk::kPaddingBytes);
  static_assert(kPaddedBytesMax <= Chunk::kPaddingBytes);

  RowWriter writer_;
  std::vector<Column> columns_{};
};

}  // namespace palimpsest::load
