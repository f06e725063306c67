// Dates, timestamps and decimals: column values for which C++ has no type.
//
// Values of fixed size, compared by operators. Text is ISO 8601 in the proleptic Gregorian
// calendar.
// Invariants: (1) a Decimal has at most 38 digits, at most 38 of them after the point.
// Failure: text that does not parse gives an empty optional; arguments beyond a limit throw Error
//          invalid_argument. Nothing is rounded and nothing overflows silently.
// Thread-safety: values; functions are pure.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "palimpsest/error.h"

namespace palimpsest {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

/// A day, without a time zone. Its text is "2024-02-29"; years outside 0 to 9999 have a sign and up
/// to seven digits: "-0044-03-15", "+12024-01-01".
class Date {
 public:
  /// 1970-01-01.
  constexpr Date() noexcept = default;
  constexpr explicit Date(std::int32_t days_since_1970) noexcept : days_(days_since_1970) {}

  /// A day of the calendar, as in Date::of(2024y / 2 / 29). Throws invalid_argument if it does not
  /// exist.
  [[nodiscard]] static constexpr Date of(const std::chrono::year_month_day& day) {
    if (!day.ok()) {
      throw Error(ErrorCode::invalid_argument, "the calendar has no such day");
    }
    return Date(static_cast<std::int32_t>(std::chrono::sys_days(day).time_since_epoch().count()));
  }
  /// Parses a whole text; nothing if there is no such day, or it exceeds 32 bits.
  [[nodiscard]] static std::optional<Date> parse(std::string_view text) noexcept;

  [[nodiscard]] constexpr std::int32_t days_since_1970() const noexcept { return days_; }
  /// For the calendar of <chrono>, which has the years -32767 to 32767:
  /// std::chrono::year_month_day(date.days()).
  [[nodiscard]] constexpr std::chrono::sys_days days() const noexcept {
    return std::chrono::sys_days(std::chrono::days(days_));
  }
  [[nodiscard]] std::string text() const;

  friend constexpr auto operator<=>(const Date&, const Date&) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, Date date);

 private:
  std::int32_t days_ = 0;
};

/// A point in time, in microseconds UTC without leap seconds. Its text is
/// "2024-02-29T12:34:56.789Z", with as many digits after the point as needed; parse() also accepts
/// a space for the T, and no Z.
class Timestamp {
 public:
  using Time = std::chrono::sys_time<std::chrono::microseconds>;

  /// 1970-01-01T00:00:00Z.
  constexpr Timestamp() noexcept = default;
  constexpr explicit Timestamp(std::int64_t microseconds_since_1970) noexcept
      : microseconds_(microseconds_since_1970) {}

  [[nodiscard]] static constexpr Timestamp of(Time time) noexcept {
    return Timestamp(time.time_since_epoch().count());
  }
  /// The system clock's time.
  [[nodiscard]] static Timestamp now() noexcept {
    return of(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
  }
  /// Parses a whole text; nothing if it is no time, or one beyond the range of 64-bit microseconds:
  /// 292,000 years to both sides.
  [[nodiscard]] static std::optional<Timestamp> parse(std::string_view text) noexcept;

  [[nodiscard]] constexpr std::int64_t microseconds_since_1970() const noexcept {
    return microseconds_;
  }
  /// For <chrono>.
  [[nodiscard]] constexpr Time time() const noexcept {
    return Time(std::chrono::microseconds(microseconds_));
  }
  /// Its day, in UTC.
  [[nodiscard]] constexpr Date date() const noexcept {
    const auto days = std::chrono::floor<std::chrono::days>(time()).time_since_epoch().count();
    return Date(static_cast<std::int32_t>(days));
  }
  [[nodiscard]] std::string text() const;

  friend constexpr auto operator<=>(const Timestamp&, const Timestamp&) noexcept = default;
  friend std::ostream& operator<<(std::ostream& out, Timestamp timestamp);

 private:
  std::int64_t microseconds_ = 0;
};

/// Maximum digits of a Decimal, and of those after its point.
inline constexpr unsigned kDecimalDigitsMax = 38;

namespace detail {

inline constexpr auto kPowersOfTen = [] {
  std::array<Int128, kDecimalDigitsMax + 1> powers{};
  Int128 power = 1;
  for (unsigned exponent = 0; exponent < kDecimalDigitsMax; ++exponent) {
    powers[exponent] = power;
    power *= 10;
  }
  powers[kDecimalDigitsMax] = power;
  return powers;
}();

}  // namespace detail

/// An exact decimal number: an integer, `unscaled`, and its `scale`, the number of its digits that
/// are after the point. Its text is "-12.30", with all digits of its scale.
///
/// Sums and differences are exact and have the larger scale of the two; beyond 38 digits they throw
/// invalid_argument. Products and quotients would have to be rounded: callers compute them on
/// unscaled().
class Decimal {
 public:
  /// 0, with scale 0.
  constexpr Decimal() noexcept = default;

  /// unscaled / 10^scale: Decimal::of(-1230, 2) is -12.30. Throws invalid_argument beyond 38
  /// digits.
  [[nodiscard]] static constexpr Decimal of(Int128 unscaled, unsigned scale = 0) {
    if (scale > kDecimalDigitsMax || !has_digits(unscaled, kDecimalDigitsMax)) {
      refuse();
    }
    return {unscaled, scale};
  }
  /// Parses an optional sign and digits, with at most one point before some of them, and no
  /// exponent; nothing if the text is something else, or has more than 38 digits.
  [[nodiscard]] static std::optional<Decimal> parse(std::string_view text) noexcept;

  [[nodiscard]] constexpr Int128 unscaled() const noexcept { return unscaled_; }
  [[nodiscard]] constexpr unsigned scale() const noexcept { return scale_; }
  /// The same number at another scale; nothing if it would lose digits or exceed 38.
  [[nodiscard]] constexpr std::optional<Decimal> with_scale(unsigned scale) const noexcept {
    if (scale == scale_) {
      return *this;
    }
    if (scale > kDecimalDigitsMax) {
      return std::nullopt;
    }
    if (scale < scale_) {
      const Int128 power = detail::kPowersOfTen[scale_ - scale];
      return unscaled_ % power == 0 ? std::optional(Decimal(unscaled_ / power, scale))
                                    : std::nullopt;
    }
    const unsigned added = scale - scale_;
    return has_digits(unscaled_, kDecimalDigitsMax - added)
               ? std::optional(Decimal(unscaled_ * detail::kPowersOfTen[added], scale))
               : std::nullopt;
  }
  /// Whether it has at most so many digits in all; `digits` is at most 38.
  [[nodiscard]] constexpr bool fits(unsigned digits) const noexcept {
    return has_digits(unscaled_, digits);
  }
  [[nodiscard]] std::string text() const;

  [[nodiscard]] constexpr Decimal operator-() const noexcept { return {-unscaled_, scale_}; }
  friend constexpr Decimal operator+(const Decimal& a, const Decimal& b) {
    const unsigned longer = a.scale_ > b.scale_ ? a.scale_ : b.scale_;
    const auto scaled_a = a.with_scale(longer);
    const auto scaled_b = b.with_scale(longer);
    Int128 sum = 0;
    if (!scaled_a || !scaled_b ||
        __builtin_add_overflow(scaled_a->unscaled_, scaled_b->unscaled_, &sum)) {
      refuse();
    }
    return of(sum, longer);
  }
  friend constexpr Decimal operator-(const Decimal& a, const Decimal& b) { return a + -b; }
  constexpr Decimal& operator+=(const Decimal& other) { return *this = *this + other; }
  constexpr Decimal& operator-=(const Decimal& other) { return *this = *this - other; }

  /// Compares numbers: 1.5 equals 1.50.
  friend constexpr std::weak_ordering operator<=>(const Decimal& a, const Decimal& b) noexcept {
    if (a.scale_ == b.scale_) {
      return a.unscaled_ <=> b.unscaled_;
    }
    const Int128 ones_a = detail::kPowersOfTen[a.scale_];
    const Int128 ones_b = detail::kPowersOfTen[b.scale_];
    if (const auto order = a.unscaled_ / ones_a <=> b.unscaled_ / ones_b; order != 0) {
      return order;
    }
    // The fractions, with as many digits as the longer one: below 10^38.
    const unsigned longer = a.scale_ > b.scale_ ? a.scale_ : b.scale_;
    return a.unscaled_ % ones_a * detail::kPowersOfTen[longer - a.scale_] <=>
           b.unscaled_ % ones_b * detail::kPowersOfTen[longer - b.scale_];
  }
  friend constexpr bool operator==(const Decimal& a, const Decimal& b) noexcept {
    return (a <=> b) == 0;
  }
  friend std::ostream& operator<<(std::ostream& out, const Decimal& decimal);

 private:
  constexpr Decimal(Int128 unscaled, unsigned scale) noexcept
      : unscaled_(unscaled), scale_(scale) {}

  [[nodiscard]] static constexpr bool has_digits(Int128 unscaled, unsigned digits) noexcept {
    const Int128 end = detail::kPowersOfTen[digits];
    return -end < unscaled && unscaled < end;
  }
  [[noreturn]] static void refuse();

  Int128 unscaled_ = 0;
  unsigned scale_ = 0;
};

}  // namespace palimpsest
