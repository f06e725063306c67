// What a text means where a file writes values in a way of its own: numbers with a decimal comma or
// with thousands apart, dates in another order.
//
//   ValueRules rules{.decimal_point = ',', .thousands = '.'};
//   parse_by(rules, types::decimal(12, 2), "1.234,50", ...)   // 1234.50
//
// `exact` is for columns whose types were chosen by a sample: a text that its value would not be
// written as again, 007 or +5, and a number that a double would round, is refused, so that the
// choice is made again and never applied.
// Failure: UsageError for a format of dates that is none. Thread-safety: functions are pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "tools/load/text_arena.h"
#include "tools/load/value_text.h"

namespace palimpsest::load {

struct ValueRules {
  char decimal_point = '.';
  char thousands = '\0';           ///< between groups of three digits before the point; or none
  std::string date_format{};       ///< %d.%m.%Y; empty: 2024-02-29
  std::string timestamp_format{};  ///< %d.%m.%Y %H:%M:%S; empty: 2024-02-29T12:34:56Z
  bool exact = false;

  friend bool operator==(const ValueRules&, const ValueRules&) = default;
  /// Whether a column's texts are those of parse_value().
  [[nodiscard]] bool changes(ColumnType type) const noexcept;
};

/// As parse_value(), by these rules.
[[nodiscard]] std::optional<ValueFault> parse_by(const ValueRules& rules, const DataType& type,
                                                 std::string_view text, BytesText bytes,
                                                 TextArena& arena, Value& value);

/// A number as it is written with a point, and nothing between thousands; nothing if the rules do
/// not read it.
[[nodiscard]] std::optional<std::string> plain_number_text(const ValueRules& rules,
                                                           std::string_view text);

/// Whether an integer or a decimal would be written as this text again, but for zeros at the end.
[[nodiscard]] bool is_written_plainly(std::string_view number) noexcept;

/// Whether a double says what the number says: it has the digits of that when it is printed with as
/// many.
[[nodiscard]] bool is_kept_by_double(std::string_view number);

/// Throws UsageError, which names the option, for a format with unknown letters, or without a day.
void require_date_format(std::string_view option, std::string_view format);

}  // namespace palimpsest::load
