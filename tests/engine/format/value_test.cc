// Values: their kinds, comparison, what is refused.
#include "palimpsest/value.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/error_of.h"

namespace palimpsest {
namespace {

static_assert(!std::is_constructible_v<Value, std::string&&>, "a text that goes away");
static_assert(!std::is_constructible_v<Value, std::vector<std::uint8_t>&&>, "bytes that go away");
static_assert(!std::is_constructible_v<Value, std::vector<std::byte>&&>, "bytes that go away");
static_assert(!std::is_constructible_v<Value, char>);
static_assert(!std::is_constructible_v<Value, int*>);
static_assert(!std::is_constructible_v<Value, std::nullptr_t>, "null is Value()");
static_assert(!std::is_constructible_v<Value, Int128>, "not all of them fit");

TEST(Value, KindsFollowFromWhatTheyAreMadeOf) {
  const std::string text = "Ada";
  const std::vector<Value> values{{},    true,           7,       std::uint32_t{8}, 1.5, 0.5F,
                                  "Ada", Decimal::of(1), Date(3), Timestamp(4),     text};
  using enum ValueKind;
  const std::vector<ValueKind> kinds{null,  boolean, integer, integer,   floating, floating,
                                     bytes, decimal, date,    timestamp, bytes};
  ASSERT_EQ(values.size(), kinds.size());
  for (std::size_t at = 0; at < values.size(); ++at) {
    EXPECT_EQ(values[at].kind(), kinds[at]) << at;
  }
  EXPECT_EQ(values[10].as_bytes().data(), text.data()) << "a view";
  EXPECT_EQ(values[3].as_integer(), 8);
}

TEST(Value, UnsignedIntegersAreValuesUnlessTheyAreTooLarge) {
  const std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Value(largest).as_integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Value(std::vector<int>(3).size()), Value(3));
  EXPECT_EQ(test::error_of([&] { return Value(largest + 1); }, "9223372036854775808"),
            ErrorCode::invalid_argument);
}

TEST(Value, BytesOfOtherTypesAreViewed) {
  std::vector<std::uint8_t> numbers{0x41, 0x00, 0xFF};
  const std::vector<std::byte> bytes(2, std::byte{0x42});
  const Value of_numbers = numbers;
  EXPECT_EQ(of_numbers.as_bytes(), std::string_view("A\0\xFF", 3));
  EXPECT_EQ(Value(bytes).as_bytes(), "BB");
  EXPECT_EQ(Value(std::span<const std::byte>(bytes).first(1)).as_bytes(), "B");
  EXPECT_EQ(Value(std::span(numbers)).as_bytes(), of_numbers.as_bytes());
  EXPECT_EQ(Value(std::as_bytes(std::span<const std::uint8_t, 3>(numbers))), of_numbers);
  numbers[0] = 0x43;
  EXPECT_EQ(of_numbers.as_bytes()[0], 'C');
}

TEST(Value, AskingForAnotherKindIsRefused) {
  EXPECT_EQ(
      test::error_of([] { return Value(1).as_bytes(); }, "requested as bytes, but is integer"),
      ErrorCode::invalid_argument);
  EXPECT_EQ(test::error_of([] { return Value().as_integer(); }, "but is null"),
            ErrorCode::invalid_argument);
}

TEST(Value, EqualAsKeysAre) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Value(nan), Value(std::copysign(nan, -1.0)));
  EXPECT_NE(Value(nan), Value(1.0));
  EXPECT_NE(Value(1.0), Value(nan));
  EXPECT_EQ(Value(0.0), Value(-0.0));
  EXPECT_EQ(Value(Decimal::of(10, 1)), Value(Decimal::of(1)));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(""), Value());
  EXPECT_EQ(Value(std::string_view("a\0b", 3)), Value(std::string_view("a\0b", 3)));
  EXPECT_NE(Value(std::string_view("a\0b", 3)), Value("a"));
}

TEST(Value, TextIsForPeople) {
  EXPECT_EQ(Value().text(), "null");
  EXPECT_EQ(Value(false).text(), "false");
  EXPECT_EQ(Value(-7).text(), "-7");
  EXPECT_EQ(Value(0.1).text(), "0.1");
  EXPECT_EQ(Value(Decimal::of(-1230, 2)).text(), "-12.30");
  EXPECT_EQ(Value(Date(0)).text(), "1970-01-01");
  EXPECT_EQ(Value(Timestamp(0)).text(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Value("text").text(), "text");
}

}  // namespace
}  // namespace palimpsest
