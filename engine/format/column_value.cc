#include "engine/format/column_value.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::engine {
namespace {

ValueKind kind_of(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::boolean: return ValueKind::boolean;
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64: return ValueKind::integer;
    case ColumnType::float32:
    case ColumnType::float64: return ValueKind::floating;
    case ColumnType::decimal: return ValueKind::decimal;
    case ColumnType::date: return ValueKind::date;
    case ColumnType::timestamp: return ValueKind::timestamp;
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return ValueKind::bytes;
}

std::optional<std::string> misfit_of_integer(const DataType& type, std::int64_t value) {
  const std::uint32_t bits = 8 * fixed_bytes(type);
  const std::int64_t max = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  if (value >= -max - 1 && value <= max) {
    return std::nullopt;
  }
  return fmt::format("{} is beyond {} to {}", value, -max - 1, max);
}

std::optional<std::string> misfit_of_floating(const DataType& type, double value) {
  if (type.type == ColumnType::float64 || !std::isfinite(value) ||
      std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max())) {
    return std::nullopt;
  }
  return fmt::format("{} is beyond the range of the type", value);
}

/// An integer fits a floating-point column if it is represented exactly.
std::optional<std::string> misfit_as_floating(const DataType& type, std::int64_t value) {
  const int digits = type.type == ColumnType::float32 ? std::numeric_limits<float>::digits
                                                      : std::numeric_limits<double>::digits;
  const std::int64_t most = std::int64_t{1} << digits;
  if (value >= -most && value <= most) {
    return std::nullopt;
  }
  return fmt::format("{} as an integer is beyond {} to {}", value, -most, most);
}

std::optional<std::string> misfit_of_decimal(const DataType& type, const Decimal& value) {
  const auto scaled = value.with_scale(type.scale);
  if (scaled && scaled->fits(type.precision)) {
    return std::nullopt;
  }
  return fmt::format("{} has more digits", value.text());
}

std::optional<std::string> misfit_of_bytes(const DataType& type, ByteView value) {
  const std::size_t size =
      type.type == ColumnType::character ? without_padding(value).size() : value.size();
  if (size <= type.length) {
    return std::nullopt;
  }
  return fmt::format("{} bytes are too long", size);
}

/// The bits of a floating-point number, as wide as the column.
Int128 bits_of(ColumnType type, double value) noexcept {
  return type == ColumnType::float32
             ? Int128{std::bit_cast<std::uint32_t>(static_cast<float>(value))}
             : Int128{std::bit_cast<std::uint64_t>(value)};
}

/// The stored form of an integer that fits.
Int128 stored_of_integer(const DataType& type, std::int64_t value) noexcept {
  switch (kind_of(type.type)) {
    case ValueKind::floating: return bits_of(type.type, static_cast<double>(value));
    case ValueKind::decimal: return Decimal::of(value).with_scale(type.scale)->unscaled();
    default: return value;
  }
}

Int128 unscaled_of(const DataType& type, Int128 stored) noexcept {
  return fixed_bytes(type) == 8 ? Int128{static_cast<std::int64_t>(stored)} : stored;
}

Decimal decimal_of(const DataType& type, Int128 stored) {
  if (const auto fault = fault_of_integer(type, stored)) [[unlikely]] {
    throw Error(ErrorCode::corruption,
                fmt::format("stored in a column of type {}: {}", text_of(type), *fault));
  }
  return Decimal::of(unscaled_of(type, stored), type.scale);
}

}  // namespace

std::optional<std::string> misfit(const DataType& type, const Value& value) {
  if (value.is_null()) {
    return type.nullable ? std::nullopt : std::optional<std::string>("it is never null");
  }
  if (value.kind() != kind_of(type.type)) {
    if (value.kind() == ValueKind::integer && kind_of(type.type) == ValueKind::floating) {
      return misfit_as_floating(type, value.as_integer());
    }
    if (value.kind() == ValueKind::integer && type.type == ColumnType::decimal) {
      return misfit_of_decimal(type, Decimal::of(value.as_integer()));
    }
    return fmt::format("{} is not one of its values", name_of(value.kind()));
  }
  switch (value.kind()) {
    case ValueKind::integer: return misfit_of_integer(type, value.as_integer());
    case ValueKind::floating: return misfit_of_floating(type, value.as_floating());
    case ValueKind::decimal: return misfit_of_decimal(type, value.as_decimal());
    case ValueKind::bytes: return misfit_of_bytes(type, value.as_bytes());
    case ValueKind::null:
    case ValueKind::boolean:
    case ValueKind::date:
    case ValueKind::timestamp: break;
  }
  return std::nullopt;
}

void refuse_misfit(const std::string& table, const ColumnDefinition& column,
                   const std::string& fault) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\", column \"{}\" of type {}: {}", table, column.name,
                          text_of(column.type), fault));
}

Int128 stored_integer(const DataType& type, const Value& value) noexcept {
  switch (value.kind()) {
    case ValueKind::boolean: return value.as_boolean() ? 1 : 0;
    case ValueKind::integer: return stored_of_integer(type, value.as_integer());
    case ValueKind::floating: return bits_of(type.type, value.as_floating());
    case ValueKind::decimal: return value.as_decimal().with_scale(type.scale)->unscaled();
    case ValueKind::date: return value.as_date().days_since_1970();
    case ValueKind::timestamp: return value.as_timestamp().microseconds_since_1970();
    case ValueKind::null:
    case ValueKind::bytes: break;
  }
  check(false, "a value that is stored as an integer");
  return 0;
}

double floating_of(const Value& value) {
  return value.kind() == ValueKind::integer ? static_cast<double>(value.as_integer())
                                            : value.as_floating();
}

Value value_of(const DataType& type, Int128 stored) {
  switch (type.type) {
    case ColumnType::boolean: return (stored & 0xFF) != 0;
    case ColumnType::int8: return static_cast<std::int8_t>(stored);
    case ColumnType::int16: return static_cast<std::int16_t>(stored);
    case ColumnType::int32: return static_cast<std::int32_t>(stored);
    case ColumnType::int64: return static_cast<std::int64_t>(stored);
    case ColumnType::float32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(stored)));
    case ColumnType::float64: return std::bit_cast<double>(static_cast<std::uint64_t>(stored));
    case ColumnType::decimal: return decimal_of(type, stored);
    case ColumnType::date: return Date(static_cast<std::int32_t>(stored));
    case ColumnType::timestamp: return Timestamp(static_cast<std::int64_t>(stored));
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  check(false, "a type that is stored as an integer");
  return {};
}

std::optional<std::string> fault_of_integer(const DataType& type, Int128 stored) {
  if (type.type == ColumnType::boolean && (stored & 0xFF) > 1) {
    return "a boolean that is neither false nor true";
  }
  if (type.type == ColumnType::decimal) {
    const Int128 number = unscaled_of(type, stored);
    const Int128 end = detail::kPowersOfTen[type.precision];
    if (number <= -end || number >= end) {
      return fmt::format("a number of more than {} digits", type.precision);
    }
  }
  return std::nullopt;
}

}  // namespace palimpsest::engine
