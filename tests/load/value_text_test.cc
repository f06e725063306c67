// Values as text, both ways: exact, or refused, and for the right reason.
#include "tools/load/value_text.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"

namespace palimpsest::load {
namespace {

using namespace palimpsest::types;

struct Parsed {
  std::optional<ValueFault> fault{};
  TextArena arena{};
  Value value{};
};

Parsed parse(const DataType& type, std::string_view text, BytesText bytes = BytesText::hex) {
  Parsed parsed;
  parsed.fault = parse_value(type, text, bytes, parsed.arena, parsed.value);
  return parsed;
}

std::string text_of(const DataType& type, const Value& value) {
  std::string text;
  append_value(type, value, BytesText::hex, text);
  return text;
}

void expect_same(const DataType& type, std::string_view text) {
  const Parsed parsed = parse(type, text);
  ASSERT_FALSE(parsed.fault) << text << ": " << parsed.fault->reason;
  EXPECT_EQ(text_of(type, parsed.value), text);
}

void expect_as(const DataType& type, std::string_view text, std::string_view canonical) {
  const Parsed parsed = parse(type, text);
  ASSERT_FALSE(parsed.fault) << text << ": " << parsed.fault->reason;
  EXPECT_EQ(text_of(type, parsed.value), canonical);
}

void expect_fault(const DataType& type, std::string_view text, FaultKind kind) {
  const Parsed parsed = parse(type, text);
  ASSERT_TRUE(parsed.fault) << text << " is " << text_of(type, parsed.value);
  EXPECT_EQ(parsed.fault->kind, kind) << text << ": " << parsed.fault->reason;
}

TEST(ValueTextTest, Integers) {
  for (const char* text : {"0", "-128", "127"}) {
    expect_same(int8(), text);
  }
  expect_same(int16(), "-32768");
  expect_same(int32(), "2147483647");
  expect_same(int64(), "-9223372036854775808");
  expect_same(int64(), "999999999999999999");
  expect_same(int64(), "1000000000000000000");
  expect_as(int64(), "+007", "7");
  expect_as(int64(), "007", "7");
  expect_fault(int8(), "128", FaultKind::range);
  expect_fault(int16(), "-32769", FaultKind::range);
  expect_fault(int64(), "9223372036854775808", FaultKind::range);
  for (const char* text : {"", " 1", "1 ", "1.0", "1e3", "0x10", "+-1", "+", "-", "1,000", "NaN"}) {
    expect_fault(int64(), text, FaultKind::type);
  }
}

TEST(ValueTextTest, FloatingPoint) {
  for (const char* text : {"0", "-0", "0.1", "1e+300", "-2.5", "NaN", "Infinity", "-Infinity",
                           "5e-324", "1.7976931348623157e+308"}) {
    expect_same(float64(), text);
  }
  expect_same(float32(), "1e-45");
  expect_same(float32(), "3.4028235e+38");
  expect_as(float32(), "16777217", "16777216");
  expect_as(float64(), "+INF", "Infinity");
  expect_as(float64(), ".5", "0.5");
  expect_as(float64(), "0e-999", "0");
  expect_fault(float64(), "1e309", FaultKind::range);
  expect_fault(float64(), "1e-400", FaultKind::range);
  expect_fault(float32(), "1e39", FaultKind::range);
  expect_fault(float32(), "-1e-60", FaultKind::range);
  for (const char* text : {"", "1.2.3", "nan(1)", "0x1p3", " 1", "1,5", "e5"}) {
    expect_fault(float64(), text, FaultKind::type);
  }
}

TEST(ValueTextTest, RandomDoublesComeBack) {
  Random random(test::seed());
  for (int i = 0; i < 20'000; ++i) {
    const auto number = std::bit_cast<double>(random());
    if (!std::isnan(number)) {
      const std::string text = text_of(float64(), Value(number));
      const Parsed parsed = parse(float64(), text);
      ASSERT_FALSE(parsed.fault) << text;
      EXPECT_EQ(std::bit_cast<std::uint64_t>(parsed.value.as_floating()),
                std::bit_cast<std::uint64_t>(number))
          << text;
    }
  }
}

TEST(ValueTextTest, Decimals) {
  const std::string nines(38, '9');
  expect_same(decimal(38), nines);
  expect_same(decimal(38), "-" + nines);
  expect_same(decimal(38, 38), "0." + nines);
  expect_as(decimal(12, 2), "1", "1.00");
  expect_as(decimal(12, 2), "+0001.5000", "1.50");
  expect_as(decimal(2, 2), "-.05", "-0.05");
  expect_same(decimal(18), std::string(18, '9'));
  expect_same(decimal(18, 2), "9999999999999999.99");
  expect_same(decimal(18, 17), "9.99999999999999999");
  expect_as(decimal(4, 2), "099.9", "99.90");
  expect_as(decimal(12, 2), "1.5e2", "150.00");
  expect_as(decimal(12, 2), "-12345E-2", "-123.45");
  expect_as(decimal(12, 2), "0e999", "0.00");
  expect_as(decimal(30, 20), "1.5007635628272106E-4", "0.00015007635628272106");
  expect_fault(decimal(12, 2), "1e11", FaultKind::range);
  expect_fault(decimal(12, 2), "1e-3", FaultKind::range);
  expect_fault(decimal(4, 2), "100.0", FaultKind::range);
  expect_fault(decimal(18), "1" + std::string(18, '0'), FaultKind::range);
  expect_fault(decimal(12, 2), "1.005", FaultKind::range);
  expect_fault(decimal(4, 2), "100", FaultKind::range);
  expect_fault(decimal(38), "1" + nines, FaultKind::range);
  for (const char* text :
       {"", ".", "1.", "-", "1e", "1e+-2", "1e2.5", "e2", "1e9999", "1,5", " 1", "1.2.3", "--1"}) {
    expect_fault(decimal(12, 2), text, FaultKind::type);
  }
}

TEST(ValueTextTest, DatesAndTimes) {
  for (const char* text : {"2024-02-29", "-0044-03-15", "+12024-01-01"}) {
    expect_same(date(), text);
  }
  for (const std::int32_t days :
       {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    expect_same(date(), Date(days).text());
  }
  for (const std::int64_t microseconds :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    expect_same(timestamp(), Timestamp(microseconds).text());
  }
  expect_as(timestamp(), "2024-02-29 12:34:56.70", "2024-02-29T12:34:56.7Z");
  expect_as(timestamp(), "2015-12-08T00:46:59+01:00", "2015-12-07T23:46:59Z");
  expect_as(timestamp(), "2015-12-08 00:46:59-0530", "2015-12-08T06:16:59Z");
  expect_as(timestamp(), "2015-12-08 00:46:59.25 +00", "2015-12-08T00:46:59.25Z");
  expect_as(timestamp(), "2015-12-08 00:46:59 UTC", "2015-12-08T00:46:59Z");
  expect_as(timestamp(), "2024-02-29T12:34:56.123456000Z", "2024-02-29T12:34:56.123456Z");
  expect_as(timestamp(), "2024-02-29T12:34", "2024-02-29T12:34:00Z");
  expect_as(timestamp(), "2024-02-29", "2024-02-29T00:00:00Z");
  expect_fault(timestamp(), "2024-02-30", FaultKind::range);
  expect_fault(timestamp(), "-290308-12-21T19:59:05.224192+00:01", FaultKind::range);
  expect_fault(date(), "2023-02-29", FaultKind::range);
  expect_fault(date(), "2023-13-01", FaultKind::range);
  expect_fault(timestamp(), "2024-02-29T12:34:56.1234567Z", FaultKind::range);
  expect_fault(timestamp(), "2024-02-29T24:00:00Z", FaultKind::range);
  for (const char* text : {"", "29.02.2024", "2024-2-29", "2024-02-29T00:00:00", "20240229"}) {
    expect_fault(date(), text, FaultKind::type);
  }
  for (const char* text :
       {"", "2024-02-29T12:34:56+2:00", "2024-02-29T12:34:56+99:00",
        "2024-02-29T12:34:56 Europe/Berlin", "12:34:56", "T", "2024-02-29T12:34:56."}) {
    expect_fault(timestamp(), text, FaultKind::type);
  }
}

TEST(ValueTextTest, Booleans) {
  for (const char* text : {"true", "TRUE", "t", "1", "yes", "Y"}) {
    expect_as(boolean(), text, "true");
  }
  for (const char* text : {"false", "F", "0", "no"}) {
    expect_as(boolean(), text, "false");
  }
  for (const char* text : {"", "2", "tr", "on", "truee"}) {
    expect_fault(boolean(), text, FaultKind::type);
  }
}

TEST(ValueTextTest, TextsAndBytes) {
  expect_same(varchar(3), "abc");
  expect_same(varchar(3), "");
  expect_fault(varchar(3), "abcd", FaultKind::range);
  expect_same(character(3), "abc");
  EXPECT_FALSE(parse(character(3), "ab    ").fault);
  expect_fault(character(3), "abcd", FaultKind::range);
  expect_same(types::bytes(4), "\\x00ff20aa");
  expect_same(types::bytes(4), "\\x");
  expect_as(types::bytes(4), "\\xAA", "\\xaa");
  expect_fault(types::bytes(4), "\\x0011223344", FaultKind::range);
  for (const char* text : {"", "abc", "\\x0", "\\xgg", "00"}) {
    expect_fault(types::bytes(4), text, FaultKind::type);
  }
  const Parsed raw = parse(types::bytes(4), "\\x0", BytesText::raw);
  ASSERT_FALSE(raw.fault);
  EXPECT_EQ(raw.value.as_bytes(), "\\x0");
}

}  // namespace
}  // namespace palimpsest::load
