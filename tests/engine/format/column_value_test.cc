// Which values fit which columns, by the fast check and by the complete one.
#include "engine/format/column_value.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;

const std::vector<DataType>& types_of_all_kinds() {
  static const std::vector<DataType> types{
      boolean(),  int8(),        int16(),         int32(),          int64(), float32(),
      float64(),  decimal(4, 2), decimal(18),     decimal(38),      date(),  timestamp(),
      varchar(3), character(3),  types::bytes(3), nullable(int64())};
  return types;
}

std::vector<Value> values_of_all_kinds() {
  using Int64 = std::numeric_limits<std::int64_t>;
  using Int32 = std::numeric_limits<std::int32_t>;
  return {Value(),
          true,
          1,
          127,
          128,
          Int32::max(),
          std::int64_t{Int32::max()} + 1,
          Int32::min(),
          std::int64_t{Int32::min()} - 1,
          Int64::max(),
          Int64::min(),
          1.5,
          1e300,
          Decimal::of(9999, 2),
          Decimal::of(10'000, 2),
          Decimal::of(-9999, 2),
          Decimal::of(-10'000, 2),
          Decimal::of(5, 1),
          Decimal::of(5, 3),
          Decimal::of(7, 0),
          Date(20'000),
          Timestamp(1),
          std::string_view(""),
          std::string_view("abc"),
          std::string_view("ab  "),
          std::string_view("abcd")};
}

TEST(ColumnValue, WhatSurelyFitsIsNoMisfit) {
  int sure = 0;
  for (const DataType& type : types_of_all_kinds()) {
    for (const Value& value : values_of_all_kinds()) {
      if (surely_fits(type, value)) {
        ++sure;
        EXPECT_FALSE(misfit(type, value).has_value()) << text_of(type) << ": " << value;
      }
    }
  }
  EXPECT_GT(sure, 30);
}

TEST(ColumnValue, CommonValuesSurelyFit) {
  EXPECT_TRUE(surely_fits(int64(), 7));
  EXPECT_TRUE(surely_fits(int32(), -7));
  EXPECT_TRUE(surely_fits(decimal(4, 2), Decimal::of(-9999, 2)));
  EXPECT_TRUE(surely_fits(date(), Date(1)));
  EXPECT_TRUE(surely_fits(varchar(3), std::string_view("abc")));
  EXPECT_FALSE(surely_fits(varchar(3), std::string_view("abcd")));
  EXPECT_FALSE(surely_fits(nullable(int64()), Value())) << "asks misfit()";
}

TEST(ColumnValue, IntegersAreStoredAsTheNumbersOfTheirColumns) {
  for (const std::int64_t number : {-70'000, -1, 0, 1, 12'345}) {
    const auto same = [&](const DataType& type, const Value& value) {
      ASSERT_FALSE(misfit(type, number).has_value());
      EXPECT_EQ(stored_integer(type, number), stored_integer(type, value)) << text_of(type);
      EXPECT_EQ(value_of(type, stored_integer(type, number)), value) << text_of(type);
    };
    same(float32(), static_cast<double>(number));
    same(float64(), static_cast<double>(number));
    same(decimal(9, 2), Decimal::of(Int128{100} * number, 2));
    same(decimal(30, 5), Decimal::of(100'000 * Int128{number}, 5));
  }
  EXPECT_TRUE(misfit(boolean(), 1).has_value());
  EXPECT_TRUE(misfit(date(), 1).has_value());
  EXPECT_TRUE(misfit(int64(), 1.0).has_value()) << "not the other way round";
}

TEST(ColumnValue, PlainDatesAreReadAsAnyDates) {
  for (const auto& [text, other] :
       std::vector<std::pair<std::string_view, std::string_view>>{{"1970-01-01", "+01970-01-01"},
                                                                  {"0000-03-01", "+00000-03-01"},
                                                                  {"9999-12-31", "+09999-12-31"},
                                                                  {"2024-02-29", "+02024-02-29"}}) {
    ASSERT_TRUE(Date::parse(text).has_value()) << text;
    EXPECT_EQ(Date::parse(text), Date::parse(other)) << text;
  }
  for (const std::string_view none : {"2023-02-29", "2023-13-01", "2023-00-10", "2023-1a-10",
                                      "2023-01-32", "2023/01/01", "202:-01-01"}) {
    EXPECT_FALSE(Date::parse(none).has_value()) << none;
  }
}

}  // namespace
}  // namespace palimpsest::engine
