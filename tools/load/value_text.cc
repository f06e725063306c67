#include "tools/load/value_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "tools/load/plain_number.h"

namespace palimpsest::load {
namespace {

using Fault = std::optional<ValueFault>;

Fault type_fault(std::string reason) {
  return ValueFault{.kind = FaultKind::type, .reason = std::move(reason)};
}

Fault range_fault(std::string reason) {
  return ValueFault{.kind = FaultKind::range, .reason = std::move(reason)};
}

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

bool are_digits(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::string_view without_plus(std::string_view text) noexcept {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

bool equal_in_any_case(std::string_view text, std::string_view lower) noexcept {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// Integers and floating point

template <class Integer>
bool set_plain_integer(std::string_view text, Value& value) noexcept {
  const auto plain = plain_number(text);
  if (!plain || plain->behind != 0 || !std::in_range<Integer>(plain->digits)) {
    return false;
  }
  value = static_cast<Integer>(plain->digits);
  return true;
}

template <class Integer>
Fault parse_integer(std::string_view text, Value& value) {
  if (set_plain_integer<Integer>(text, value)) {
    return std::nullopt;
  }
  const std::string_view digits = without_plus(text);
  Integer number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (rest != end || error == std::errc::invalid_argument) {
    return type_fault("not an integer");
  }
  if (error != std::errc()) {
    return range_fault(fmt::format("beyond {} to {}", std::numeric_limits<Integer>::min(),
                                   std::numeric_limits<Integer>::max()));
  }
  value = number;
  return std::nullopt;
}

/// Whether digits before an exponent say that the number is not zero.
bool has_nonzero_digit(std::string_view number) noexcept {
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  return std::ranges::any_of(mantissa, [](char byte) { return byte >= '1' && byte <= '9'; });
}

template <class Floating>
Fault parse_floating(std::string_view text, Value& value) {
  const std::string_view number = without_plus(text);
  Floating parsed = 0;
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, parsed);
  if (rest != end || error == std::errc::invalid_argument || number.ends_with(')')) {
    return type_fault("not a number");
  }
  const bool has_digits = number.find_first_of("0123456789") != std::string_view::npos;
  if (error != std::errc() || (has_digits && !std::isfinite(parsed))) {
    return range_fault("beyond what the type can hold");
  }
  if (parsed == 0 && has_nonzero_digit(number)) {
    return range_fault("nearer to zero than the type can hold");
  }
  value = parsed;
  return std::nullopt;
}

template <class Floating>
void append_floating(Floating value, std::string& into) {
  if (std::isnan(value)) {
    into += "NaN";
  } else if (std::isinf(value)) {
    into += value < 0 ? "-Infinity" : "Infinity";
  } else {
    into += fmt::format("{}", value);
  }
}

// Decimals

/// A number taken apart: nothing has been judged but its form.
struct DecimalText {
  bool negative = false;
  std::string_view before{};  ///< digits, without zeros at the beginning
  std::string_view behind{};  ///< digits, without zeros at the end
  std::string shifted{};      ///< what these are parts of, if there was an exponent
};

/// Digits with a point or none; false for anything else.
bool split_at_point(std::string_view text, DecimalText& parts) noexcept {
  const std::size_t point = text.find('.');
  parts.before = text.substr(0, point);
  if (point != std::string_view::npos) {
    parts.behind = text.substr(point + 1);
    if (!are_digits(parts.behind) || (!parts.before.empty() && !are_digits(parts.before))) {
      return false;
    }
  } else if (!are_digits(parts.before)) {
    return false;
  }
  parts.before.remove_prefix(std::min(parts.before.find_first_not_of('0'), parts.before.size()));
  parts.behind = parts.behind.substr(0, parts.behind.find_last_not_of('0') + 1);
  return true;
}

/// Moves the point by an exponent; false if it is none, or so large that no decimal has it.
bool shift(std::string_view exponent, DecimalText& parts) {
  constexpr int kShiftMax = 1000;
  int by = 0;
  exponent.remove_prefix(exponent.starts_with('+') && !exponent.starts_with("+-") ? 1 : 0);
  const char* const end = exponent.data() + exponent.size();
  const auto [rest, error] = std::from_chars(exponent.data(), end, by);
  if (rest != end || error != std::errc() || by > kShiftMax || by < -kShiftMax) {
    return false;
  }
  std::string digits = std::string(parts.before) + std::string(parts.behind);
  std::size_t point = parts.before.size();
  if (by < 0) {
    const auto back = static_cast<std::size_t>(-by);
    digits.insert(0, back, '0');
    point += back;
  }
  digits.append(by > 0 ? static_cast<std::size_t>(by) : 0, '0');
  digits.insert(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(point) + by), 1, '.');
  parts.shifted = digits.ends_with('.') ? digits + "0" : digits;
  return split_at_point(parts.shifted, parts);
}

bool take_apart(std::string_view text, DecimalText& parts) {
  parts.negative = text.starts_with('-');
  if (parts.negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const std::size_t e = text.find_first_of("eE");
  if (!split_at_point(text.substr(0, e), parts)) {
    return false;
  }
  return e == std::string_view::npos || shift(text.substr(e + 1), parts);
}

/// The digits as they follow each other; they are so few that the sum fits.
Int128 number_of(std::string_view digits, Int128 number) noexcept {
  std::int64_t part = 0;  // 64 bits at a time: arithmetic with 128 is slow
  std::size_t count = 0;
  for (const char digit : digits) {
    part = part * 10 + (digit - '0');
    if (++count == 18) {
      number = number * palimpsest::detail::kPowersOfTen[count] + part;
      part = 0;
      count = 0;
    }
  }
  return number * palimpsest::detail::kPowersOfTen[count] + part;
}

bool set_plain_decimal(const DataType& type, std::string_view text, Value& value) noexcept {
  const auto plain = plain_number(text);
  if (!plain || type.precision > PlainNumber::kSizeMax || plain->behind > type.scale ||
      plain->before > type.precision - type.scale) {
    return false;
  }
  const auto shift =
      static_cast<std::int64_t>(palimpsest::detail::kPowersOfTen[type.scale - plain->behind]);
  const std::int64_t digits = plain->digits * shift;
  value = Decimal::of(digits, type.scale);
  return true;
}

Fault parse_decimal(const DataType& type, std::string_view text, Value& value) {
  if (set_plain_decimal(type, text, value)) {
    return std::nullopt;
  }
  DecimalText parts;
  if (!take_apart(text, parts)) {
    return type_fault("not a decimal number");
  }
  if (parts.behind.size() > type.scale) {
    return range_fault(fmt::format("more than {} digits behind the point", type.scale));
  }
  if (parts.before.size() > type.precision - type.scale) {
    return range_fault(
        fmt::format("more than {} digits before the point", type.precision - type.scale));
  }
  const Int128 digits = number_of(parts.behind, number_of(parts.before, 0));
  const Int128 unscaled =
      digits * palimpsest::detail::kPowersOfTen[type.scale - parts.behind.size()];
  value = Decimal::of(parts.negative ? -unscaled : unscaled, type.scale);
  return std::nullopt;
}

// Dates and times

bool is_date_in_form(std::string_view text) noexcept {
  const bool has_sign = text.starts_with('-') || text.starts_with('+');
  text.remove_prefix(has_sign ? 1 : 0);
  const std::size_t year_digits = std::min(text.find('-'), text.size());
  const std::string_view rest = text.substr(year_digits);
  return year_digits >= 4 && are_digits(text.substr(0, year_digits)) && rest.size() == 6 &&
         are_digits(rest.substr(1, 2)) && rest[3] == '-' && are_digits(rest.substr(4));
}

bool is_time_in_form(std::string_view text) noexcept {
  if (text.ends_with('Z')) {
    text.remove_suffix(1);
  }
  return text.size() >= 8 && are_digits(text.substr(0, 2)) && text[2] == ':' &&
         are_digits(text.substr(3, 2)) && text[5] == ':' && are_digits(text.substr(6, 2)) &&
         (text.size() == 8 || (text[8] == '.' && are_digits(text.substr(9))));
}

Fault parse_date(std::string_view text, Value& value) {
  if (const auto date = Date::parse(text)) {
    value = *date;
    return std::nullopt;
  }
  return is_date_in_form(text) ? range_fault("there is no such day, or it is too far away")
                               : type_fault("not a date like 2024-02-29");
}

/// Whether a text ends with a zone, which is taken off: minutes before UTC.
std::optional<int> take_offset(std::string_view& text) noexcept {
  for (const std::string_view utc : {"Z", "z", " UTC", "UTC"}) {
    if (text.ends_with(utc)) {
      text.remove_suffix(utc.size());
      return 0;
    }
  }
  constexpr std::size_t kTimeMin = 11;  // behind a date and a T
  const std::size_t sign = text.find_last_of("+-");
  if (sign == std::string_view::npos || sign < kTimeMin ||
      text.find(':') == std::string_view::npos || sign < text.find(':')) {
    return std::nullopt;
  }
  std::string_view offset = text.substr(sign + 1);
  const std::string_view hours = offset.substr(0, 2);
  offset.remove_prefix(hours.size());
  offset.remove_prefix(offset.starts_with(':') ? 1 : 0);
  if (hours.size() != 2 || !are_digits(hours) ||
      (!offset.empty() && (offset.size() != 2 || !are_digits(offset)))) {
    return std::nullopt;
  }
  const auto number = [](std::string_view digits) {
    return digits.empty() ? 0 : (digits[0] - '0') * 10 + (digits[1] - '0');
  };
  constexpr int kHoursMax = 18;
  if (number(hours) > kHoursMax || number(offset) >= 60) {
    return std::nullopt;
  }
  const int minutes = number(hours) * 60 + number(offset);
  const bool is_west = text[sign] == '-';
  text = text.substr(0, sign);
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  return is_west ? -minutes : minutes;
}

/// As the calendar's own parser takes it: with seconds, and at most six digits behind them if more
/// are zeros.
std::string completed(std::string_view text) {
  constexpr std::size_t kFractionDigits = 6;
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos && text.size() > point + 1 + kFractionDigits &&
      text.find_first_not_of('0', point + 1 + kFractionDigits) == std::string_view::npos) {
    return std::string(text.substr(0, point + 1 + kFractionDigits));
  }
  const std::size_t middle = text.find_first_of("T ");
  if (middle == std::string_view::npos) {
    return std::string(text) + "T00:00:00";
  }
  const bool is_minutes = text.size() - middle == 6 && text[text.size() - 3] == ':';
  return std::string(text) + (is_minutes ? ":00" : "");
}

Fault parse_timestamp(std::string_view text, Value& value) {
  if (const auto timestamp = Timestamp::parse(text)) {
    value = *timestamp;
    return std::nullopt;
  }
  std::string_view local = text;
  const std::optional<int> offset = take_offset(local);
  const auto there = Timestamp::parse(completed(local));
  std::int64_t microseconds = 0;
  if (there &&
      !__builtin_sub_overflow(there->microseconds_since_1970(),
                              std::int64_t{offset.value_or(0)} * 60'000'000, &microseconds)) {
    value = Timestamp(microseconds);
    return std::nullopt;
  }
  const std::size_t middle = std::min(local.find_first_of("T "), local.size());
  const std::string_view time = local.substr(std::min(middle + 1, local.size()));
  if (!is_date_in_form(local.substr(0, middle)) || (!time.empty() && !is_time_in_form(time))) {
    return type_fault("not a time like 2024-02-29T12:34:56.789Z or 2024-02-29 13:34:56+01:00");
  }
  constexpr std::size_t kMicroseconds = 8 + 7;  // 12:34:56.789012
  return time.size() > kMicroseconds ? range_fault("more than 6 digits behind the point")
                                     : range_fault("there is no such time, or it is too far away");
}

// Texts

Fault parse_boolean(std::string_view text, Value& value) {
  for (const std::string_view is : {"true", "1", "t", "yes", "y"}) {
    if (equal_in_any_case(text, is)) {
      value = true;
      return std::nullopt;
    }
  }
  for (const std::string_view is : {"false", "0", "f", "no", "n"}) {
    if (equal_in_any_case(text, is)) {
      value = false;
      return std::nullopt;
    }
  }
  return type_fault("neither true nor false");
}

Fault set_text(const DataType& type, std::string_view text, Value& value) {
  std::size_t size = text.size();
  if (type.type == ColumnType::character) {
    size = text.find_last_not_of(' ') + 1;
  }
  if (size > type.length) {
    return range_fault(fmt::format("{} bytes, the column has at most {}", size, type.length));
  }
  value = text;
  return std::nullopt;
}

constexpr int kNoDigit = -1;

int hex_digit(char byte) noexcept {
  if (is_digit(byte)) {
    return byte - '0';
  }
  const char lower = static_cast<char>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : kNoDigit;
}

Fault parse_hex(const DataType& type, std::string_view text, TextArena& arena, Value& value) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) {
    return type_fault("bytes are written as \\x and two hexadecimal digits each");
  }
  text.remove_prefix(2);
  const std::span<char> bytes = arena.take(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high == kNoDigit || low == kNoDigit) {
      return type_fault("bytes are written as \\x and two hexadecimal digits each");
    }
    bytes[i] = static_cast<char>(static_cast<unsigned char>(high * 16 + low));
  }
  return set_text(type, {bytes.data(), bytes.size()}, value);
}

void append_hex(std::string_view bytes, std::string& into) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  into += "\\x";
  for (const char byte : bytes) {
    const unsigned number = static_cast<unsigned char>(byte);
    into += kDigits[number / 16];
    into += kDigits[number % 16];
  }
}

}  // namespace

bool set_plain_value(const DataType& type, std::string_view text, Value& value) noexcept {
  switch (type.type) {
    case ColumnType::int32: return set_plain_integer<std::int32_t>(text, value);
    case ColumnType::int64: return set_plain_integer<std::int64_t>(text, value);
    case ColumnType::decimal: return set_plain_decimal(type, text, value);
    case ColumnType::character:
    case ColumnType::varchar:
      if (text.size() > type.length) {
        return false;
      }
      value = text;
      return true;
    case ColumnType::date:
      if (const auto date = Date::parse(text)) [[likely]] {
        value = *date;
        return true;
      }
      return false;
    default: return false;
  }
}

std::optional<ValueFault> parse_value(const DataType& type, std::string_view text, BytesText bytes,
                                      TextArena& arena, Value& value) {
  switch (type.type) {
    case ColumnType::boolean: return parse_boolean(text, value);
    case ColumnType::int8: return parse_integer<std::int8_t>(text, value);
    case ColumnType::int16: return parse_integer<std::int16_t>(text, value);
    case ColumnType::int32: return parse_integer<std::int32_t>(text, value);
    case ColumnType::int64: return parse_integer<std::int64_t>(text, value);
    case ColumnType::float32: return parse_floating<float>(text, value);
    case ColumnType::float64: return parse_floating<double>(text, value);
    case ColumnType::decimal: return parse_decimal(type, text, value);
    case ColumnType::date: return parse_date(text, value);
    case ColumnType::timestamp: return parse_timestamp(text, value);
    case ColumnType::character:
    case ColumnType::varchar: return set_text(type, text, value);
    case ColumnType::bytes: break;
  }
  return bytes == BytesText::raw ? set_text(type, text, value)
                                 : parse_hex(type, text, arena, value);
}

void append_value(const DataType& type, const Value& value, BytesText bytes, std::string& into) {
  switch (type.type) {
    case ColumnType::boolean: into += value.as_boolean() ? "true" : "false"; return;
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64: {
      const fmt::format_int text(value.as_integer());
      into.append(text.data(), text.size());
      return;
    }
    case ColumnType::float32:
      append_floating(static_cast<float>(value.as_floating()), into);
      return;
    case ColumnType::float64: append_floating(value.as_floating(), into); return;
    case ColumnType::decimal: into += value.as_decimal().text(); return;
    case ColumnType::date: into += value.as_date().text(); return;
    case ColumnType::timestamp: into += value.as_timestamp().text(); return;
    case ColumnType::character:
    case ColumnType::varchar: into += value.as_bytes(); return;
    case ColumnType::bytes: break;
  }
  if (bytes == BytesText::raw) {
    into += value.as_bytes();
  } else {
    append_hex(value.as_bytes(), into);
  }
}

}  // namespace palimpsest::load
