// Values as text, both ways: what parse_value() reads of append_value()'s text is the value that it
// was, and what it does not read exactly it refuses.
//
//   int8 to int64      an optional sign and decimal digits
//   float, double      decimal, with an exponent or none; NaN, Infinity, inf, in any case
//   decimal(p,s)       an optional sign, digits, a point, an exponent or none; zeros behind the
//                      last digit of the scale
//   bool               true false t f yes no y n 1 0, in any case
//   date, timestamp    2024-02-29, 2024-02-29T12:34:56.789Z (palimpsest/types.h): UTC, up to
//                      microseconds, more digits if they are zeros; a space for the T, no Z; an
//                      offset as +01:00, +0100, +01, which is taken off; no seconds; a day alone
//   char(n), varchar   the text itself; spaces at the end of a char(n) do not count
//   bytes              \x and two hexadecimal digits for each byte; or, raw, the bytes themselves
//
// Nothing is trimmed. A number is rounded only to what a float or double is: one that would become
// zero or infinite is out of range.
// Thread-safety: functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "tools/load/fault.h"
#include "tools/load/text_arena.h"

namespace palimpsest::load {

/// How columns of bytes are written.
enum class BytesText : std::uint8_t { hex = 1, raw };

/// Why a text is no value of a column.
struct ValueFault {
  FaultKind kind{};
  std::string reason{};
};

/// Sets `value` to what the text is in a column of that type, which is not null; a text views
/// `text`, or lies in `arena`.
[[nodiscard]] std::optional<ValueFault> parse_value(const DataType& type, std::string_view text,
                                                    BytesText bytes, TextArena& arena,
                                                    Value& value);

/// The same for the common types, and texts of them that are surely in order: quickly. False says
/// nothing: parse_value() is to be asked.
[[nodiscard]] bool set_plain_value(const DataType& type, std::string_view text,
                                   Value& value) noexcept;

/// Appends the text of a value that is not null.
void append_value(const DataType& type, const Value& value, BytesText bytes, std::string& into);

}  // namespace palimpsest::load
