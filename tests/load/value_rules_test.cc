// Values that are written in other ways, and which types keep what a text says.
#include "tools/load/value_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

using namespace palimpsest::types;

/// The value's text, or "!" for a fault.
std::string read(const ValueRules& rules, const DataType& type, std::string_view text) {
  TextArena arena;
  Value value;
  if (parse_by(rules, type, text, BytesText::hex, arena, value)) {
    return "!";
  }
  std::string written;
  append_value(type, value, BytesText::hex, written);
  return written;
}

TEST(ValueRulesTest, Numbers) {
  const ValueRules comma{.decimal_point = ','};
  EXPECT_EQ(read(comma, decimal(12, 2), "-7,25"), "-7.25");
  EXPECT_EQ(read(comma, float64(), "1,5e3"), "1500");
  EXPECT_EQ(read(comma, decimal(12, 2), "7.25"), "!");
  EXPECT_EQ(read(comma, varchar(9), "7.25"), "7.25");
  const ValueRules grouped{.thousands = ','};
  EXPECT_EQ(read(grouped, int64(), "1,234,567"), "1234567");
  EXPECT_EQ(read(grouped, decimal(12, 2), "-12,345.67"), "-12345.67");
  EXPECT_EQ(read(grouped, int64(), "1234567"), "1234567");
  for (const char* text : {"1,23", "1,2345", ",123", "1,,234", "123,", "1,234.5,6", "1234,567"}) {
    EXPECT_EQ(read(grouped, decimal(18, 4), text), "!") << text;
  }
  EXPECT_EQ(read({.decimal_point = ',', .thousands = '.'}, decimal(12, 2), "1.234,5"), "1234.50");
}

TEST(ValueRulesTest, Dates) {
  const ValueRules german{.date_format = "%d.%m.%Y"};
  EXPECT_EQ(read(german, date(), "1.2.2024"), "2024-02-01");
  EXPECT_EQ(read(german, date(), "29.02.2023"), "!");
  for (const char* text : {"2024-02-01", "1.2.24", "1.2.2024 ", "1.2.20245", "1..2024", ""}) {
    EXPECT_EQ(read(german, date(), text), "!") << text;
  }
  const ValueRules log{.timestamp_format = "%d/%b/%Y:%H:%M:%S.%f %z"};
  EXPECT_EQ(read(log, timestamp(), "05/Mar/2024:23:59:58.25 -0130"), "2024-03-06T01:29:58.25Z");
  EXPECT_EQ(read(log, timestamp(), "05/Mer/2024:23:59:58.25 -0130"), "!");
  EXPECT_EQ(read({.timestamp_format = "%B %d, %Y"}, timestamp(), "may 5, 2024"),
            "2024-05-05T00:00:00Z");
  EXPECT_THROW(require_date_format("--date-format", "%Y-%q"), UsageError);
  EXPECT_THROW(require_date_format("--date-format", "%Y"), UsageError);
}

TEST(ValueRulesTest, ExactTypesTakeNoOtherTexts) {
  const ValueRules exact{.exact = true};
  for (const char* text : {"007", "+5", "-0", "-007"}) {
    EXPECT_EQ(read(exact, int64(), text), "!") << text;
  }
  EXPECT_EQ(read(exact, int64(), "-7"), "-7");
  EXPECT_EQ(read(exact, decimal(12, 2), "00.5"), "!");
  EXPECT_EQ(read(exact, decimal(12, 2), "-0.0"), "!");
  EXPECT_EQ(read(exact, decimal(12, 2), "0.5"), "0.50");
  EXPECT_EQ(read(exact, float64(), "-0"), "-0");
  EXPECT_EQ(read(exact, float64(), "9223372036854775807"), "!");
  EXPECT_EQ(read(exact, boolean(), "t"), "!");
  EXPECT_EQ(read(exact, timestamp(), "2024-02-29"), "!");
  EXPECT_EQ(read(exact, date(), "+2024-02-29"), "!");
}

TEST(ValueRulesTest, WhatADoubleKeeps) {
  for (const char* text : {"0", "-0", "0.1", "123456789012345", "1e22", "1.7976931348623157e+308",
                           "5e-324", "0.10000000000000001", "1.0000000000000000e-01",
                           "9007199254740992", "1000000000000000000000000"}) {
    EXPECT_TRUE(is_kept_by_double(text)) << text;
  }
  for (const char* text : {"9007199254740993", "0.12345678901234567890", "1.234567890123456e-320",
                           "123456789012345678901234567890"}) {
    EXPECT_FALSE(is_kept_by_double(text)) << text;
  }
}

}  // namespace
}  // namespace palimpsest::load
