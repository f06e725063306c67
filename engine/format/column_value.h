// Values and the types of columns: which fit which, and the integers that stand for them in rows
// and keys.
//
// Every type of fixed width, but for character, is stored as one integer of that width: what a
// boolean, an integer, a date (days) or a timestamp (microseconds) is, the bits of a floating-point
// number, and the unscaled integer of a decimal, whose scale is the column's. Rows store it
// little-endian, keys in an order of their own (key_writer.h).
//
// Failure: misfit() is asked first; the other functions do as if it had been.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "base/bytes.h"

namespace palimpsest::engine {

/// Most digits of a decimal that is stored in 8 bytes; others take 16.
inline constexpr std::uint32_t kDigitsOfEightBytes = 18;

/// Bytes of the type's values in rows and keys; 0 for varchar and bytes.
[[nodiscard]] constexpr std::uint32_t fixed_bytes(const DataType& type) noexcept {
  switch (type.type) {
    case ColumnType::boolean:
    case ColumnType::int8: return 1;
    case ColumnType::int16: return 2;
    case ColumnType::int32:
    case ColumnType::float32:
    case ColumnType::date: return 4;
    case ColumnType::int64:
    case ColumnType::float64:
    case ColumnType::timestamp: return 8;
    case ColumnType::decimal: return type.precision <= kDigitsOfEightBytes ? 8 : 16;
    case ColumnType::character: return type.length;
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return 0;
}

/// Whether any bytes, as many as the type's values have, are a value of a column.
[[nodiscard]] constexpr bool takes_any_bytes(const DataType& type) noexcept {
  return !type.nullable && fixed_bytes(type) != 0 && type.type != ColumnType::boolean &&
         type.type != ColumnType::decimal;
}
/// The same in a key, where a value has one form.
[[nodiscard]] constexpr bool takes_any_bytes_in_key(const DataType& type) noexcept {
  return takes_any_bytes(type) && type.type != ColumnType::float32 &&
         type.type != ColumnType::float64;
}

/// Text without the spaces at its end.
[[nodiscard]] constexpr ByteView without_padding(ByteView text) noexcept {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// Why the value cannot be one of this type; nothing if it can. An integer can be one of a decimal
/// or floating-point column that loses nothing of it.
[[nodiscard]] std::optional<std::string> misfit(const DataType& type, const Value& value);
/// Whether misfit() would find nothing wrong: quickly. If not, it may still find nothing.
[[nodiscard]] inline bool surely_fits(const DataType& type, const Value& value) noexcept {
  switch (type.type) {
    case ColumnType::int32:
      return value.kind() == ValueKind::integer &&
             value.as_integer() == static_cast<std::int32_t>(value.as_integer());
    case ColumnType::int64: return value.kind() == ValueKind::integer;
    case ColumnType::date: return value.kind() == ValueKind::date;
    case ColumnType::timestamp: return value.kind() == ValueKind::timestamp;
    case ColumnType::decimal:
      return value.kind() == ValueKind::decimal && value.as_decimal().scale() == type.scale &&
             value.as_decimal().fits(type.precision);
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes:
      return value.kind() == ValueKind::bytes && value.as_bytes().size() <= type.length;
    default: return false;
  }
}
/// Stores a value as rows have it, in the bytes of its type, if that is of the common fixed ones
/// and the value surely fits: quickly. If not, nothing is written.
[[nodiscard]] inline bool store_surely(const DataType& type, const Value& value,
                                       char* into) noexcept {
  if (!surely_fits(type, value)) {
    return false;
  }
  const auto store = [into](auto number) { std::memcpy(into, &number, sizeof number); };
  switch (type.type) {
    case ColumnType::int32: store(static_cast<std::int32_t>(value.as_integer())); return true;
    case ColumnType::int64: store(value.as_integer()); return true;
    case ColumnType::date: store(value.as_date().days_since_1970()); return true;
    case ColumnType::timestamp: store(value.as_timestamp().microseconds_since_1970()); return true;
    case ColumnType::decimal:
      if (const Int128 unscaled = value.as_decimal().unscaled(); fixed_bytes(type) == 8) {
        store(static_cast<std::int64_t>(unscaled));
      } else {
        store(unscaled);
      }
      return true;
    case ColumnType::character: {
      const ByteView text = without_padding(value.as_bytes());
      text.copy(into, text.size());
      std::memset(into + text.size(), ' ', type.length - text.size());
      return true;
    }
    default: return false;
  }
}
/// Throws invalid_argument, which names table and column.
[[noreturn]] void refuse_misfit(const std::string& table, const ColumnDefinition& column,
                                const std::string& fault);
/// Throws invalid_argument, which names table and column, for a misfit.
inline void require_fit(const std::string& table, const ColumnDefinition& column,
                        const Value& value) {
  if (!surely_fits(column.type, value)) {
    if (const auto fault = misfit(column.type, value)) [[unlikely]] {
      refuse_misfit(table, column, *fault);
    }
  }
}

/// The integer of a value that is not null, of a type that has one. Nothing stands above the bytes
/// of its width, for types without a sign; the sign for others.
[[nodiscard]] Int128 stored_integer(const DataType& type, const Value& value) noexcept;
/// That of a value which fits a floating-point column.
[[nodiscard]] double floating_of(const Value& value);
/// The value that an integer of the type's width stands for; what is above is ignored. Throws
/// corruption for a decimal of more digits than the column has.
[[nodiscard]] Value value_of(const DataType& type, Int128 stored);
/// Why no value has this integer; nothing if one has. For bytes that may be hostile.
[[nodiscard]] std::optional<std::string> fault_of_integer(const DataType& type, Int128 stored);

}  // namespace palimpsest::engine
