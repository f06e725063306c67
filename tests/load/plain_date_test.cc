// Reading a date's bytes all at once equals Date::parse().
#include "tools/load/plain_date.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::load {
namespace {

TEST(PlainDate, EveryDayOfTheYears0To9999) {
  const Date last = *Date::parse("9999-12-31");
  for (std::int32_t day = Date::parse("0000-01-01")->days_since_1970();
       day <= last.days_since_1970(); ++day) {
    // All days where centuries begin and end, and some between.
    const bool is_near = day % 36'524 < 900 || day % 7 == 0;
    if (is_near) {
      ASSERT_EQ(plain_date(Date(day).text()), Date(day)) << Date(day).text();
    }
  }
}

TEST(PlainDate, EveryMonthAndDayThereMayBe) {
  for (const char* year : {"1900", "2000", "2023", "2024", "0000", "9999"}) {
    for (int month_and_day = 0; month_and_day < 10'000; ++month_and_day) {
      std::string digits = std::to_string(10'000 + month_and_day).substr(1);
      const std::string text =
          std::string(year) + "-" + digits.substr(0, 2) + "-" + digits.substr(2);
      ASSERT_EQ(plain_date(text), Date::parse(text)) << text;
    }
  }
}

TEST(PlainDate, NothingButDigitsAndTwoSigns) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 10; ++at) {
      for (std::string text : {"1999-09-09", "0000-01-01"}) {
        text[at] = static_cast<char>(byte);
        ASSERT_EQ(plain_date(text), Date::parse(text)) << text;
      }
    }
  }
}

TEST(PlainDate, OfRandomTexts) {
  Random random(palimpsest::test::seed());
  constexpr std::string_view kBytes = "0123456789012345678901234567890123456789-----/:.\x80\xFF";
  for (int round = 0; round < 300'000; ++round) {
    std::string text = "2024-02-29";
    for (std::uint64_t left = random.below(4); left > 0; --left) {
      text[random.below(text.size())] = kBytes[random.below(kBytes.size())];
    }
    text.resize(random.below(20) == 0 ? random.below(12) : 10, '0');
    const auto date = plain_date(text);
    if (text.size() == 10 && text[0] != '-' && text[0] != '+') {
      ASSERT_EQ(date, Date::parse(text)) << text;
    } else {
      ASSERT_EQ(date, std::nullopt) << text;
    }
  }
}

}  // namespace
}  // namespace palimpsest::load
