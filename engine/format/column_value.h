// Values and column types: which values fit which types, and the integers that represent them in
// rows and keys.
//
// Every type of fixed width, except character, is stored as one integer of that width: the value of
// a boolean, an integer, a date (days) or a timestamp (microseconds); the bits of a floating-point
// number; the unscaled integer of a decimal, with the column's scale. Rows store it little-endian,
// keys in an order-preserving form (key_writer.h).
//
// Failure: callers check misfit() first; the other functions rely on that.
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

/// Most digits of a decimal that is stored in 8 bytes; longer ones take 16.
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

/// Whether any bytes of the type's width are a valid value of a column.
[[nodiscard]] constexpr bool takes_any_bytes(const DataType& type) noexcept {
  return !type.nullable && fixed_bytes(type) != 0 && type.type != ColumnType::boolean &&
         type.type != ColumnType::decimal;
}
/// As takes_any_bytes(), but in a key, where each value has one form.
[[nodiscard]] constexpr bool takes_any_bytes_in_key(const DataType& type) noexcept {
  return takes_any_bytes(type) && type.type != ColumnType::float32 &&
         type.type != ColumnType::float64;
}

/// The text without trailing spaces.
[[nodiscard]] constexpr ByteView without_padding(ByteView text) noexcept {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

/// Why the value is not one of this type; nothing if it is. An integer fits a decimal or
/// floating-point column that represents it exactly.
[[nodiscard]] std::optional<std::string> misfit(const DataType& type, const Value& value);
/// A quick check: true only if misfit() would return nothing; may be false although it would.
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
/// Quickly stores a value as in rows, in the bytes of its type, if the type is one of the common
/// fixed ones and the value surely fits. Otherwise returns false and writes nothing.
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
/// Throws invalid_argument, naming table and column.
[[noreturn]] void refuse_misfit(const std::string& table, const ColumnDefinition& column,
                                const std::string& fault);
/// Throws invalid_argument, naming table and column, for a misfit.
inline void require_fit(const std::string& table, const ColumnDefinition& column,
                        const Value& value) {
  if (!surely_fits(column.type, value)) {
    if (const auto fault = misfit(column.type, value)) [[unlikely]] {
      refuse_misfit(table, column, *fault);
    }
  }
}

/// The integer of a value that is not null, of a type that has one. Above the type's width, it is
/// zero-extended for types without a sign, sign-extended otherwise.
[[nodiscard]] Int128 stored_integer(const DataType& type, const Value& value) noexcept;
/// The number of a value that fits a floating-point column.
[[nodiscard]] double floating_of(const Value& value);
/// The value of an integer of the type's width; higher bits are ignored. Throws corruption for a
/// decimal with more digits than the column has.
[[nodiscard]] Value value_of(const DataType& type, Int128 stored);
/// Why no value has this integer; nothing if one has. Safe for hostile bytes.
[[nodiscard]] std::optional<std::string> fault_of_integer(const DataType& type, Int128 stored);

}  // namespace palimpsest::engine
