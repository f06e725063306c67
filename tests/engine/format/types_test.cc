// Dates, timestamps and decimals: to text and back, the ends of their ranges, what is refused.
#include "palimpsest/types.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

constexpr std::int32_t kDayMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kDayMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kTimeMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max();

static_assert(Date::of(2024y / 2 / 29).days_since_1970() == 19'782);
static_assert(Date::of(1969y / 12 / 31) < Date());
static_assert(Timestamp(-1).date() == Date(-1));
static_assert(Decimal::of(1230, 2) == Decimal::of(123, 1));
static_assert(Decimal::of(-1231, 2) < Decimal::of(-123, 1));

TEST(Date, TextOfKnownDays) {
  EXPECT_EQ(Date().text(), "1970-01-01");
  EXPECT_EQ(Date(-1).text(), "1969-12-31");
  EXPECT_EQ(Date::of(2024y / 2 / 29).text(), "2024-02-29");
  EXPECT_EQ(Date(-719'528).text(), "0000-01-01");
  EXPECT_EQ(Date(-719'529).text(), "-0001-12-31");
  EXPECT_EQ(Date(2'932'896).text(), "9999-12-31");
  EXPECT_EQ(Date(2'932'897).text(), "+10000-01-01");
  EXPECT_EQ(Date(kDayMin).text(), "-5877641-06-23");
  EXPECT_EQ(Date(kDayMax).text(), "+5881580-07-11");
}

TEST(Date, GoesToTheCalendarAndBack) {
  const std::chrono::year_month_day calendar(Date(19'782).days());
  EXPECT_EQ(calendar, 2024y / 2 / 29);
  EXPECT_EQ(Date::of(Date(-1).days()), Date(-1));
}

TEST(Date, PrintsAsItsText) {
  std::ostringstream out;
  out << Date(0) << ' ' << Timestamp(0) << ' ' << Decimal::of(-1230, 2);
  EXPECT_EQ(out.str(), "1970-01-01 1970-01-01T00:00:00Z -12.30");
}

TEST(Date, AnyDayComesBackFromItsText) {
  Random random(test::seed());
  for (test::Rounds rounds(5000); rounds.next();) {
    const Date day(static_cast<std::int32_t>(static_cast<std::uint32_t>(random())));
    ASSERT_EQ(Date::parse(day.text()), day) << day.days_since_1970();
    const Date near(static_cast<std::int32_t>(random.below(200'000)) - 100'000);
    ASSERT_EQ(Date::parse(near.text()), near) << near.days_since_1970();
  }
  EXPECT_EQ(Date::parse(Date(kDayMin).text()), Date(kDayMin));
  EXPECT_EQ(Date::parse(Date(kDayMax).text()), Date(kDayMax));
}

TEST(Date, DaysFollowEachOtherAsInTheCalendar) {
  std::chrono::sys_days day{1582y / 1 / 1};
  for (int count = 0; count < 200'000; ++count, day += std::chrono::days(1)) {
    const std::chrono::year_month_day date(day);
    const Date mine = Date::of(date);
    ASSERT_EQ(mine.days_since_1970(), day.time_since_epoch().count());
  }
}

TEST(Date, WhatIsNoDayIsRefused) {
  for (const char* text :
       {"", "2024", "2024-02", "2024-2-29", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01",
        "2024-01-00", "2024-04-31", "24-01-01", "12024-01-01", "2024-01-01 ", " 2024-01-01",
        "2024/01/01", "2024-01-0a", "+5881580-07-12", "-5877641-06-22", "+12345678-01-01"}) {
    EXPECT_EQ(Date::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(test::error_of([] { return Date::of(2023y / 2 / 29); }, "no such day"),
            ErrorCode::invalid_argument);
}

TEST(Timestamp, TextOfKnownTimes) {
  EXPECT_EQ(Timestamp().text(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Timestamp(-1).text(), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Timestamp(1'500'000).text(), "1970-01-01T00:00:01.5Z");
  EXPECT_EQ(Timestamp::of(std::chrono::sys_days(2024y / 2 / 29) + 12h + 34min + 56s + 789us).text(),
            "2024-02-29T12:34:56.000789Z");
  EXPECT_EQ(Timestamp(kTimeMin).text(), "-290308-12-21T19:59:05.224192Z");
  EXPECT_EQ(Timestamp(kTimeMax).text(), "+294247-01-10T04:00:54.775807Z");
}

TEST(Timestamp, AnyTimeComesBackFromItsText) {
  Random random(test::seed());
  for (test::Rounds rounds(5000); rounds.next();) {
    const Timestamp time(static_cast<std::int64_t>(random()) >> random.below(40));
    ASSERT_EQ(Timestamp::parse(time.text()), time) << time.microseconds_since_1970();
    ASSERT_EQ(time.text().substr(0, time.text().find('T')), time.date().text());
  }
  EXPECT_EQ(Timestamp::parse(Timestamp(kTimeMin).text()), Timestamp(kTimeMin));
  EXPECT_EQ(Timestamp::parse(Timestamp(kTimeMax).text()), Timestamp(kTimeMax));
}

TEST(Timestamp, TextMayBeLooser) {
  EXPECT_EQ(Timestamp::parse("1970-01-01 00:00:02"), Timestamp(2'000'000));
  EXPECT_EQ(Timestamp::parse("1970-01-01T00:00:02.250"), Timestamp(2'250'000));
}

TEST(Timestamp, WhatIsNoTimeIsRefused) {
  for (const char* text :
       {"", "1970-01-01", "1970-01-01T", "1970-01-01T00:00", "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z", "1970-01-01T00:00:60Z", "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.1234567Z", "1970-01-01T00:00:00+01:00", "1970-02-30T00:00:00Z",
        "1970-01-01T00:00:00ZZ", "1970-01-01t00:00:00Z", "+294247-01-10T04:00:54.775808Z",
        "-290308-12-21T19:59:05.224191Z", "-9999999-01-01T00:00:00Z"}) {
    EXPECT_EQ(Timestamp::parse(text), std::nullopt) << text;
  }
}

TEST(Decimal, TextOfKnownNumbers) {
  EXPECT_EQ(Decimal().text(), "0");
  EXPECT_EQ(Decimal::of(0, 2).text(), "0.00");
  EXPECT_EQ(Decimal::of(-5, 3).text(), "-0.005");
  EXPECT_EQ(Decimal::of(1230, 2).text(), "12.30");
  EXPECT_EQ(Decimal::of(1230).text(), "1230");
  EXPECT_EQ(Decimal::of(1, 38).text(), "0.00000000000000000000000000000000000001");
  const Int128 most = detail::kPowersOfTen[38] - 1;
  EXPECT_EQ(Decimal::of(-most).text(), "-99999999999999999999999999999999999999");
  EXPECT_EQ(Decimal::of(most, 37).text(), "9.9999999999999999999999999999999999999");
}

Decimal random_decimal(Random& random) {
  Int128 unscaled = 0;
  for (std::uint64_t digits = random.below(39); digits > 0; --digits) {
    unscaled = unscaled * 10 + static_cast<int>(random.below(10));
  }
  return Decimal::of(random.one_in(2) ? unscaled : -unscaled,
                     static_cast<unsigned>(random.below(39)));
}

TEST(Decimal, AnyNumberComesBackFromItsText) {
  Random random(test::seed());
  for (test::Rounds rounds(5000); rounds.next();) {
    const Decimal number = random_decimal(random);
    const auto back = Decimal::parse(number.text());
    ASSERT_TRUE(back) << number.text();
    ASSERT_TRUE(back->unscaled() == number.unscaled() && back->scale() == number.scale())
        << number.text() << " is " << back->text();
  }
}

TEST(Decimal, TextMayBeLooser) {
  EXPECT_EQ(Decimal::parse("+007.50")->text(), "7.50");
  EXPECT_EQ(Decimal::parse(".5")->text(), "0.5");
  EXPECT_EQ(Decimal::parse("-0")->text(), "0");
  EXPECT_EQ(Decimal::parse("0000000000000000000000000000000000000000001")->text(), "1");
}

TEST(Decimal, WhatIsNoNumberIsRefused) {
  for (const char* text :
       {"", "-", ".", "5.", "-.", "1e3", "1,5", "1.2.3", "--1", "+-1", " 1", "1 ",
        "999999999999999999999999999999999999999", "100000000000000000000000000000000000000",
        "0.000000000000000000000000000000000000000", "99999999999999999999.9999999999999999999"}) {
    EXPECT_FALSE(Decimal::parse(text).has_value()) << text;
  }
}

TEST(Decimal, ScalesChangeOnlyWithoutLoss) {
  const Decimal number = Decimal::parse("12.30").value();
  EXPECT_EQ(number.with_scale(1)->text(), "12.3");
  EXPECT_EQ(number.with_scale(4)->text(), "12.3000");
  EXPECT_FALSE(number.with_scale(0).has_value());
  EXPECT_FALSE(Decimal::of(-1, 1).with_scale(0).has_value());
  EXPECT_EQ(number.with_scale(36)->scale(), 36U);
  EXPECT_FALSE(number.with_scale(37).has_value()) << "39 digits";
  EXPECT_FALSE(Decimal().with_scale(39).has_value());
  EXPECT_TRUE(number.fits(4));
  EXPECT_FALSE(number.fits(3));
}

TEST(Decimal, SumsAreExact) {
  Decimal balance = Decimal::of(1000, 2);
  balance += Decimal::of(5, 3);
  EXPECT_EQ(balance.text(), "10.005");
  balance -= Decimal::of(11);
  EXPECT_EQ(balance.text(), "-0.995");
  EXPECT_EQ((Decimal::of(5, 1) + Decimal::of(-50, 2)).text(), "0.00");
  EXPECT_EQ((-Decimal::of(1230, 2)).text(), "-12.30");
  const Int128 most = detail::kPowersOfTen[38] - 1;
  EXPECT_EQ((Decimal::of(most - 1, 38) + Decimal::of(1, 38)).text(),
            "0.99999999999999999999999999999999999999");
  // In 128 bits the first of these wraps around, the second does not.
  for (const Int128 added : {most, Int128{1}}) {
    EXPECT_EQ(test::error_of([&] { return Decimal::of(most) + Decimal::of(added); }, "38 digits"),
              ErrorCode::invalid_argument);
    EXPECT_EQ(test::error_of([&] { return Decimal::of(-most) - Decimal::of(added); }, "38 digits"),
              ErrorCode::invalid_argument);
  }
  EXPECT_EQ(test::error_of([] { return Decimal::of(10) + Decimal::of(0, 37); }),
            ErrorCode::invalid_argument)
      << "a scale of 37 leaves one digit";
}

TEST(Decimal, WhatIsAddedCanBeTakenBack) {
  Random random(test::seed());
  std::size_t sums = 0;
  for (test::Rounds rounds(5000); rounds.next();) {
    const Decimal a = random_decimal(random);
    const Decimal b = random_decimal(random);
    const unsigned longer = std::max(a.scale(), b.scale());
    if (!a.with_scale(longer) || !b.with_scale(longer) || !a.fits(36) || !b.fits(36)) {
      continue;
    }
    try {
      const Decimal sum = a + b;
      ASSERT_EQ(sum.scale(), longer);
      ASSERT_EQ(sum - b, a) << a << " and " << b;
      ASSERT_EQ(sum, b + a);
      ASSERT_EQ(sum > a, b > Decimal()) << a << " and " << b;
      ++sums;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::invalid_argument);
    }
  }
  EXPECT_GT(sums, 0U);
}

TEST(Decimal, MoreThan38DigitsAreRefused) {
  const Int128 first_of_39 = detail::kPowersOfTen[38];
  EXPECT_EQ(test::error_of([&] { return Decimal::of(first_of_39); }, "38"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(test::error_of([&] { return Decimal::of(-first_of_39); }), ErrorCode::invalid_argument);
  EXPECT_EQ(test::error_of([] { return Decimal::of(1, 39); }), ErrorCode::invalid_argument);
}

/// The digits before the point and all 38 behind it, which are compared as text.
std::string aligned(const Decimal& number) {
  std::string text = number.text();
  text.erase(0, text.starts_with('-') ? 1 : 0);
  const std::size_t point = text.find('.');
  const std::size_t before = point == std::string::npos ? text.size() : point;
  std::string behind = point == std::string::npos ? "" : text.substr(point + 1);
  behind.resize(38, '0');
  return std::string(38 - before, '0') + text.substr(0, before) + behind;
}

TEST(Decimal, OrderIsThatOfTheNumbersWhateverTheirScales) {
  Random random(test::seed());
  for (test::Rounds rounds(5000); rounds.next();) {
    const Decimal a = random_decimal(random);
    Decimal b = random.one_in(4) ? a.with_scale(a.scale() + 1).value_or(a) : random_decimal(random);
    const bool negative = a.unscaled() < 0;
    auto expected = aligned(a) <=> aligned(b);
    if (negative != (b.unscaled() < 0)) {
      expected = negative ? std::strong_ordering::less : std::strong_ordering::greater;
    } else if (negative) {
      expected = 0 <=> expected;
    }
    ASSERT_TRUE((a <=> b) == expected) << a.text() << " and " << b.text();
    ASSERT_EQ(a == b, expected == 0);
  }
}

}  // namespace
}  // namespace palimpsest
