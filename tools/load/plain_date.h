// Dates as most stand in files: 1994-02-15, all ten bytes at once (plain_number.h).
//
// Thread-safety: pure functions. Failure: none; what is not plain may still be a date.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "palimpsest/types.h"

namespace palimpsest::load {

namespace detail {

/// Days of a month, and of those before it in its year; by the month from 0 on, and 12 later in
/// leap years.
struct MonthDays {
  std::uint16_t before = 0;
  std::uint16_t days = 0;
};

inline constexpr auto kMonths = [] {
  constexpr std::array<std::uint16_t, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::array<MonthDays, 24> months{};
  std::uint16_t before = 0;
  for (std::size_t month = 0; month < months.size(); ++month) {
    before = month % 12 == 0 ? std::uint16_t{0} : before;
    const bool is_leap_day_in_it = month == 13;
    const auto days = static_cast<std::uint16_t>(kDays[month % 12] + (is_leap_day_in_it ? 1 : 0));
    months[month] = {.before = before, .days = days};
    before = static_cast<std::uint16_t>(before + days);
  }
  return months;
}();

/// Days from 1970-01-01 to the first one of a year from 0 to 9999, which is two numbers of two
/// digits.
[[nodiscard]] constexpr std::int32_t days_before_year(std::uint32_t century,
                                                      std::uint32_t in_century) noexcept {
  constexpr std::int32_t kDaysTo1970 = 719'528;  // from the year 0
  const std::uint32_t year = century * 100 + in_century;
  const std::uint32_t centuries = century + (in_century == 0 ? 0 : 1);  // that have begun
  const std::uint32_t leap_days = (year + 3) / 4 - centuries + (centuries + 3) / 4;
  return static_cast<std::int32_t>(365 * year + leap_days) - kDaysTo1970;
}

}  // namespace detail

/// Nothing if the text is no day of the years 0000 to 9999, written like 1994-02-15.
[[nodiscard]] inline std::optional<Date> plain_date(std::string_view text) noexcept {
  if (text.size() != 10) {
    return std::nullopt;
  }
  std::uint16_t first = 0;  // of 19
  std::uint64_t rest = 0;   // of 94-02-15
  std::memcpy(&first, text.data(), sizeof first);
  std::memcpy(&rest, text.data() + sizeof first, sizeof rest);
  first ^= 0x3030;
  rest ^= 0x3030'2D30'302D'3030;
  // A byte that is added to this has its top bit if it is above 9, or, of a separator, above 0.
  const bool is_in_form = (((rest + 0x7676'7F76'767F'7676) | rest) & 0x8080'8080'8080'8080) == 0 &&
                          (((first + 0x7676U) | first) & 0x8080U) == 0;
  rest = rest * 10 + (rest >> 8);  // numbers of two digits, in bytes 0, 3 and 6
  const std::uint32_t century = (first & 0xFFU) * 10U + (first >> 8U);
  const auto in_century = static_cast<std::uint32_t>(rest & 0xFF);
  const auto month = static_cast<std::uint32_t>(rest >> 24 & 0xFF) - 1;
  const auto day = static_cast<std::uint32_t>(rest >> 48 & 0xFF) - 1;
  if (!is_in_form || month >= 12) {
    return std::nullopt;
  }
  // Without branches: a processor would guess them wrong.
  const bool is_leap = (in_century == 0 ? century : in_century) % 4 == 0;
  const detail::MonthDays& in_year = detail::kMonths[month + (is_leap ? 12 : 0)];
  if (day >= in_year.days) {
    return std::nullopt;
  }
  return Date(detail::days_before_year(century, in_century) +
              static_cast<std::int32_t>(in_year.before + day));
}

}  // namespace palimpsest::load
