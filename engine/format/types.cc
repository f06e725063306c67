#include "palimpsest/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>

namespace palimpsest {
namespace {

// The calendar repeats every 400 years: years beyond the range of <chrono> are mapped into it.
constexpr std::int64_t kEraYears = 400;
constexpr std::int64_t kEraDays = 146'097;
constexpr std::int64_t kMicrosecondsPerSecond = 1'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kMicrosecondsPerDay = kSecondsPerDay * kMicrosecondsPerSecond;

constexpr std::int64_t floor_of_quotient(std::int64_t number, std::int64_t divisor) noexcept {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

/// Parses text from its beginning.
class TextReader {
 public:
  explicit TextReader(std::string_view text) noexcept : rest_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool take(char expected) noexcept {
    const bool is = rest_.starts_with(expected);
    rest_.remove_prefix(is ? 1 : 0);
    return is;
  }
  /// The next digits, at most `max` of them; nothing if there are fewer than `min`.
  [[nodiscard]] std::optional<std::string_view> digits(std::size_t min, std::size_t max) noexcept {
    std::size_t count = 0;
    while (count < rest_.size() && count < max && rest_[count] >= '0' && rest_[count] <= '9') {
      ++count;
    }
    if (count < min) {
      return std::nullopt;
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  /// The next digits as a number.
  [[nodiscard]] std::optional<std::int64_t> number(std::size_t min, std::size_t max) noexcept {
    const auto text = digits(min, max);
    if (!text) {
      return std::nullopt;
    }
    std::int64_t number = 0;
    for (const char digit : *text) {
      number = number * 10 + (digit - '0');
    }
    return number;
  }

 private:
  std::string_view rest_;
};

std::optional<std::int64_t> days_of(std::int64_t year, std::int64_t month,
                                    std::int64_t day) noexcept {
  const std::int64_t era = floor_of_quotient(year - 1970, kEraYears);
  const std::chrono::year_month_day date{
      std::chrono::year{static_cast<int>(year - era * kEraYears)},
      std::chrono::month{static_cast<unsigned>(month)},
      std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count() + era * kEraDays;
}

std::optional<std::int64_t> take_days(TextReader& text) noexcept {
  const bool negative = text.take('-');
  const bool has_sign = negative || text.take('+');
  const auto year = text.number(4, has_sign ? 7 : 4);
  if (!year || !text.take('-')) {
    return std::nullopt;
  }
  const auto month = text.number(2, 2);
  if (!month || !text.take('-')) {
    return std::nullopt;
  }
  const auto day = text.number(2, 2);
  return day ? days_of(negative ? -*year : *year, *month, *day) : std::nullopt;
}

/// Quickly parses dates like 2026-11-23, as most are. Nothing: take_days() handles the rest.
std::optional<std::int32_t> days_of_plain_date(std::string_view text) noexcept {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') {
    return std::nullopt;
  }
  unsigned worst = 0;
  const auto digit = [&](std::size_t at) {
    const unsigned value = static_cast<unsigned char>(text[at]) - unsigned{'0'};
    worst = std::max(worst, value);
    return value;
  };
  const unsigned year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
  const unsigned month = digit(5) * 10 + digit(6);
  const unsigned day = digit(8) * 10 + digit(9);
  if (worst > 9) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)},
                                         std::chrono::month{month}, std::chrono::day{day}};
  return date.ok() ? std::optional(static_cast<std::int32_t>(
                         std::chrono::sys_days(date).time_since_epoch().count()))
                   : std::nullopt;
}

/// Microseconds behind a point, which may be missing.
std::optional<std::int64_t> take_fraction(TextReader& text) noexcept {
  if (!text.take('.')) {
    return 0;
  }
  const auto digits = text.digits(1, 6);
  if (!digits) {
    return std::nullopt;
  }
  std::int64_t fraction = 0;
  for (std::size_t at = 0; at < 6; ++at) {
    fraction = fraction * 10 + (at < digits->size() ? (*digits)[at] - '0' : 0);
  }
  return fraction;
}

std::optional<std::int64_t> take_time_of_day(TextReader& text) noexcept {
  const auto hours = text.number(2, 2);
  if (!hours || *hours > 23 || !text.take(':')) {
    return std::nullopt;
  }
  const auto minutes = text.number(2, 2);
  if (!minutes || *minutes > 59 || !text.take(':')) {
    return std::nullopt;
  }
  const auto seconds = text.number(2, 2);
  if (!seconds || *seconds > 59) {
    return std::nullopt;
  }
  const auto fraction = take_fraction(text);
  if (!fraction) {
    return std::nullopt;
  }
  return ((*hours * 60 + *minutes) * 60 + *seconds) * kMicrosecondsPerSecond + *fraction;
}

/// "." and the digits of a part of a second, without trailing zeros; nothing if it is 0.
std::string text_of_fraction(std::int64_t microseconds) {
  if (microseconds == 0) {
    return {};
  }
  std::string text = fmt::format(".{:06}", microseconds);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace

std::optional<Date> Date::parse(std::string_view text) noexcept {
  if (const auto days = days_of_plain_date(text)) [[likely]] {
    return Date(*days);
  }
  TextReader reader(text);
  const auto days = take_days(reader);
  if (!days || !reader.at_end() || *days < std::numeric_limits<std::int32_t>::min() ||
      *days > std::numeric_limits<std::int32_t>::max()) {
    return std::nullopt;
  }
  return Date(static_cast<std::int32_t>(*days));
}

std::string Date::text() const {
  const std::int64_t era = floor_of_quotient(days_, kEraDays);
  const std::chrono::days in_era(days_ - era * kEraDays);
  const std::chrono::year_month_day date{std::chrono::sys_days(in_era)};
  const std::int64_t year = static_cast<int>(date.year()) + era * kEraYears;
  const char* sign = year < 0 ? "-" : (year > 9999 ? "+" : "");
  return fmt::format("{}{:04}-{:02}-{:02}", sign, year < 0 ? -year : year,
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

std::optional<Timestamp> Timestamp::parse(std::string_view text) noexcept {
  TextReader reader(text);
  const auto days = take_days(reader);
  if (!days || !(reader.take('T') || reader.take(' '))) {
    return std::nullopt;
  }
  const auto time_of_day = take_time_of_day(reader);
  static_cast<void>(reader.take('Z'));
  if (!time_of_day || !reader.at_end()) {
    return std::nullopt;
  }
  const Int128 microseconds = Int128{*days} * kMicrosecondsPerDay + *time_of_day;
  if (microseconds < std::numeric_limits<std::int64_t>::min() ||
      microseconds > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  return Timestamp(static_cast<std::int64_t>(microseconds));
}

std::string Timestamp::text() const {
  const std::int64_t days = floor_of_quotient(microseconds_, kMicrosecondsPerDay);
  // Not days * kMicrosecondsPerDay, which for the first day is below the smallest number.
  const std::int64_t rest = microseconds_ % kMicrosecondsPerDay;
  const std::int64_t in_day = rest < 0 ? rest + kMicrosecondsPerDay : rest;
  const std::int64_t seconds = in_day / kMicrosecondsPerSecond;
  return fmt::format("{}T{:02}:{:02}:{:02}{}Z", Date(static_cast<std::int32_t>(days)).text(),
                     seconds / 3600, seconds / 60 % 60, seconds % 60,
                     text_of_fraction(in_day % kMicrosecondsPerSecond));
}

std::optional<Decimal> Decimal::parse(std::string_view text) noexcept {
  TextReader reader(text);
  const bool negative = reader.take('-');
  if (!negative) {
    static_cast<void>(reader.take('+'));
  }
  const std::string_view before = reader.digits(0, text.size()).value_or("");
  const bool has_point = reader.take('.');
  const std::string_view behind =
      has_point ? reader.digits(0, text.size()).value_or("") : std::string_view();
  if ((has_point || before.empty()) && behind.empty()) {
    return std::nullopt;
  }
  if (!reader.at_end() || behind.size() > kDecimalDigitsMax) {
    return std::nullopt;
  }
  Int128 unscaled = 0;
  for (const std::string_view part : {before, behind}) {
    for (const char digit : part) {
      if (!has_digits(unscaled, kDecimalDigitsMax - 1)) {
        return std::nullopt;
      }
      unscaled = unscaled * 10 + (digit - '0');
    }
  }
  return Decimal(negative ? -unscaled : unscaled, static_cast<unsigned>(behind.size()));
}

std::string Decimal::text() const {
  std::string reversed;
  Int128 rest = unscaled_ < 0 ? -unscaled_ : unscaled_;
  while (rest != 0 || reversed.size() <= scale_) {
    if (reversed.size() == scale_ && scale_ != 0) {
      reversed.push_back('.');
    }
    reversed.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  }
  if (unscaled_ < 0) {
    reversed.push_back('-');
  }
  return {reversed.rbegin(), reversed.rend()};
}

void Decimal::refuse() {
  throw Error(ErrorCode::invalid_argument, "a decimal has at most 38 digits");
}

std::ostream& operator<<(std::ostream& out, Date date) {
  return out << date.text();
}

std::ostream& operator<<(std::ostream& out, Timestamp timestamp) {
  return out << timestamp.text();
}

std::ostream& operator<<(std::ostream& out, const Decimal& decimal) {
  return out << decimal.text();
}

}  // namespace palimpsest
