#include "tools/load/value_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using Fault = std::optional<ValueFault>;

/// Decimal numbers of so many digits are all kept by a double, where its exponents do not end.
constexpr std::size_t kDoubleDigits = 15;
constexpr int kPlainExponentMax = 290;
constexpr std::size_t kGroupDigits = 3;

Fault type_fault(std::string reason) {
  return ValueFault{.kind = FaultKind::type, .reason = std::move(reason)};
}

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

bool is_number(ColumnType type) noexcept {
  return type >= ColumnType::int8 && type <= ColumnType::decimal;
}

// Numbers

/// A number's digits without zeros around them, and where they stand: 0.digits times ten to the
/// power of `exponent`.
struct Significant {
  std::string digits{};
  int exponent = 0;
};

Significant significant_of(std::string_view number) {
  Significant found;
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  int before = 0;
  bool is_behind = false;
  for (const char byte : number.substr(0, e)) {
    is_behind = is_behind || byte == '.';
    if (!is_digit(byte)) {
      continue;
    }
    const bool is_leading_zero = byte == '0' && found.digits.empty();
    if (!is_leading_zero) {
      found.digits += byte;
    }
    before += !is_behind ? (is_leading_zero ? 0 : 1) : (is_leading_zero ? -1 : 0);
  }
  while (found.digits.ends_with('0')) {
    found.digits.pop_back();
  }
  int power = 0;
  if (e < number.size()) {
    const std::size_t from = e + (number.substr(e + 1).starts_with('+') ? 2 : 1);
    std::from_chars(number.data() + from, number.data() + number.size(), power);
  }
  found.exponent = found.digits.empty() ? 0 : before + power;
  return found;
}

/// Takes out what stands between groups of three digits; nothing if the groups are none.
bool join_groups(std::string_view number, char between, char point, std::string& into) {
  const std::size_t begin = number.find_first_not_of("+-");
  const std::size_t end =
      std::min(number.find_first_of(std::string{point, 'e', 'E'}), number.size());
  if (begin == std::string_view::npos || begin > end) {
    return false;
  }
  std::string_view before = number.substr(begin, end - begin);
  into.assign(number.substr(0, begin));
  for (bool is_first = true; !before.empty(); is_first = false) {
    const std::size_t digits = std::min(before.find(between), before.size());
    const bool is_last = digits == before.size();
    const bool is_group =
        is_first ? digits != 0 && (is_last || digits <= kGroupDigits) : digits == kGroupDigits;
    if (!is_group || (!is_last && digits + 1 == before.size())) {
      return false;
    }
    into += before.substr(0, digits);
    before.remove_prefix(std::min(digits + 1, before.size()));
  }
  const std::string_view rest = number.substr(end);
  into += rest;
  return rest.find(between) == std::string_view::npos;
}

Fault parse_number(const ValueRules& rules, const DataType& type, std::string_view text,
                   TextArena& arena, Value& value) {
  const std::optional<std::string> plain = plain_number_text(rules, text);
  if (!plain) {
    return type_fault(fmt::format(
        "not a number with \"{}\" before its decimals{}", rules.decimal_point,
        rules.thousands == '\0'
            ? std::string()
            : fmt::format(" and \"{}\" between groups of three digits", rules.thousands)));
  }
  const bool is_floating = type.type == ColumnType::float32 || type.type == ColumnType::float64;
  if (rules.exact) {
    // Zero has a sign there.
    const std::string_view judged =
        std::string_view(*plain).substr(is_floating && plain->starts_with('-') ? 1 : 0);
    if (!is_written_plainly(judged) || (is_floating && !is_kept_by_double(*plain))) {
      return type_fault("as a number it would be written differently");
    }
  }
  return parse_value(type, *plain, BytesText::hex, arena, value);
}

// Dates

constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                   "may",       "june",     "july",     "august",
                                                   "september", "october",  "november", "december"};

/// Reads a text by a format, into one that parse_value() reads.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : text_(text) {}

  bool read(std::string_view format) {
    for (std::size_t at = 0; at < format.size(); ++at) {
      const bool is_letter = format[at] == '%' && at + 1 < format.size();
      if (is_letter ? !take(format[++at]) : !take_byte(format[at])) {
        return false;
      }
    }
    return text_.empty();
  }
  [[nodiscard]] std::string date() const { return fmt::format("{}-{}-{}", year_, month_, day_); }
  [[nodiscard]] std::string timestamp() const {
    return fmt::format("{}T{}:{}:{}{}{}", date(), hour_, minute_, second_,
                       fraction_.empty() ? "" : "." + fraction_, offset_);
  }

 private:
  bool take_byte(char byte) {
    const bool is = text_.starts_with(byte);
    text_.remove_prefix(is ? 1 : 0);
    return is;
  }
  /// One or two digits, or exactly four of a year.
  bool take_digits(std::size_t min, std::size_t max, std::string& into) {
    std::size_t digits = 0;
    while (digits < std::min(max, text_.size()) && is_digit(text_[digits])) {
      ++digits;
    }
    into = std::string(max == 2 && digits == 1 ? 1 : 0, '0') + std::string(text_.substr(0, digits));
    text_.remove_prefix(digits);
    return digits >= min;
  }
  bool take_month_name() {
    for (std::size_t month = 0; month < kMonths.size(); ++month) {
      for (const std::size_t letters : {kMonths[month].size(), kGroupDigits}) {
        const std::string_view name = kMonths[month].substr(0, letters);
        const bool is = text_.size() >= letters &&
                        std::ranges::equal(text_.substr(0, letters), name, [](char a, char b) {
                          return static_cast<char>(a | 0x20) == b;
                        });
        if (is) {
          text_.remove_prefix(letters);
          month_ = fmt::format("{:02}", month + 1);
          return true;
        }
      }
    }
    return false;
  }
  bool take_offset() {
    const std::size_t end = std::min(text_.find_first_not_of("+-:Z0123456789"), text_.size());
    offset_ = text_.substr(0, end);
    text_.remove_prefix(end);
    return end != 0;
  }
  bool take(char letter) {
    constexpr std::size_t kFractionDigits = 9;
    switch (letter) {
      case 'Y': return take_digits(4, 4, year_);
      case 'm': return take_digits(1, 2, month_);
      case 'd': return take_digits(1, 2, day_);
      case 'b':
      case 'B': return take_month_name();
      case 'H': return take_digits(1, 2, hour_);
      case 'M': return take_digits(2, 2, minute_);
      case 'S': return take_digits(2, 2, second_);
      case 'f': return take_digits(1, kFractionDigits, fraction_);
      case 'z': return take_offset();
      default: return take_byte(letter);  // %%
    }
  }

  std::string_view text_;
  std::string year_ = "0000";
  std::string month_ = "01";
  std::string day_ = "01";
  std::string hour_ = "00";
  std::string minute_ = "00";
  std::string second_ = "00";
  std::string fraction_{};
  std::string offset_{};
};

Fault parse_time(const ValueRules& rules, const DataType& type, std::string_view text,
                 TextArena& arena, Value& value) {
  const bool is_date = type.type == ColumnType::date;
  const std::string& format = is_date ? rules.date_format : rules.timestamp_format;
  if (!format.empty()) {
    DateReader reader(text);
    if (!reader.read(format)) {
      return type_fault(fmt::format("not as {} says", format));
    }
    return parse_value(type, is_date ? reader.date() : reader.timestamp(), BytesText::hex, arena,
                       value);
  }
  constexpr std::size_t kSecondsSize = 19;  // 2024-02-29T12:34:56
  if (rules.exact && (text.starts_with('+') || (!is_date && text.size() < kSecondsSize))) {
    return type_fault("it would be written differently");
  }
  return parse_value(type, text, BytesText::hex, arena, value);
}

}  // namespace

bool ValueRules::changes(ColumnType type) const noexcept {
  switch (type) {
    case ColumnType::date: return exact || !date_format.empty();
    case ColumnType::timestamp: return exact || !timestamp_format.empty();
    case ColumnType::boolean: return exact;
    default: return is_number(type) && (exact || decimal_point != '.' || thousands != '\0');
  }
}

std::optional<std::string> plain_number_text(const ValueRules& rules, std::string_view text) {
  std::string plain(text);
  if (rules.thousands != '\0' && text.find(rules.thousands) != std::string_view::npos &&
      !join_groups(text, rules.thousands, rules.decimal_point, plain)) {
    return std::nullopt;
  }
  if (rules.decimal_point != '.') {
    if (plain.find('.') != std::string::npos) {
      return std::nullopt;
    }
    std::ranges::replace(plain, rules.decimal_point, '.');
  }
  return plain;
}

std::optional<ValueFault> parse_by(const ValueRules& rules, const DataType& type,
                                   std::string_view text, BytesText bytes, TextArena& arena,
                                   Value& value) {
  constexpr std::size_t kTrueSize = 4;
  if (!rules.changes(type.type)) {
    return parse_value(type, text, bytes, arena, value);
  }
  switch (type.type) {
    case ColumnType::date:
    case ColumnType::timestamp: return parse_time(rules, type, text, arena, value);
    case ColumnType::boolean:
      if (text.size() < kTrueSize) {
        return type_fault("neither true nor false");
      }
      return parse_value(type, text, bytes, arena, value);
    default: return parse_number(rules, type, text, arena, value);
  }
}

bool is_written_plainly(std::string_view number) noexcept {
  const bool is_negative = number.starts_with('-');
  const std::string_view digits = number.substr(is_negative ? 1 : 0);
  if (number.starts_with('+') || (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]))) {
    return false;
  }
  const std::string_view mantissa = digits.substr(0, digits.find_first_of("eE"));
  const bool is_zero = mantissa.find_first_not_of("0.") == std::string_view::npos;
  return !is_negative || !is_zero;
}

bool is_kept_by_double(std::string_view number) {
  const Significant meant = significant_of(number);
  const bool is_plain =
      meant.digits.size() <= kDoubleDigits && std::abs(meant.exponent) <= kPlainExponentMax;
  if (is_plain) {
    return true;
  }
  double value = 0;
  const std::size_t sign = number.starts_with('+') ? 1 : 0;
  const auto [rest, error] =
      std::from_chars(number.data() + sign, number.data() + number.size(), value);
  if (error != std::errc() || rest != number.data() + number.size()) {
    return false;
  }
  const Significant kept = significant_of(
      fmt::format("{:.{}e}", value, std::max<std::size_t>(meant.digits.size(), 1) - 1));
  return kept.digits == meant.digits && kept.exponent == meant.exponent;
}

void require_date_format(std::string_view option, std::string_view format) {
  bool has_day = false;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      continue;
    }
    const char letter = ++at < format.size() ? format[at] : '\0';
    if (std::string_view("YmdbBHMSfz%").find(letter) == std::string_view::npos || letter == '\0') {
      throw UsageError(fmt::format(
          "{} has %Y %m %d %b %B %H %M %S %f %z and %%, and other bytes as they are: not \"{}\"",
          option, format));
    }
    has_day = has_day || letter == 'd';
  }
  if (!has_day) {
    throw UsageError(fmt::format("{} says where the day is, as %d: not \"{}\"", option, format));
  }
}

}  // namespace palimpsest::load
