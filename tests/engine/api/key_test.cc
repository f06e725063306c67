// Keys as values: a key that copies its parts outlives them. AddressSanitizer reports one that does
// not copy.
#include "palimpsest/key.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace palimpsest {
namespace {

std::vector<std::int64_t> integers_of(const Key& key) {
  std::vector<std::int64_t> integers;
  for (const Value& value : key.values()) {
    integers.push_back(value.as_integer());
  }
  return integers;
}

using Integers = std::vector<std::int64_t>;

TEST(KeyTest, AListIsCopied) {
  const Key none{};
  const Key one{7};
  const Key four{1, 2, 3, 4};
  const Key five{1, 2, 3, 4, 5};
  EXPECT_TRUE(none.values().empty());
  EXPECT_EQ(integers_of(one), Integers{7});
  EXPECT_EQ(integers_of(four), (Integers{1, 2, 3, 4}));
  EXPECT_EQ(integers_of(five), (Integers{1, 2, 3, 4, 5}));
  EXPECT_FALSE(one.is_encoded());
  EXPECT_TRUE(one.bytes().empty());
}

TEST(KeyTest, ACopyIsOnItsOwn) {
  std::optional<Key> few(Key{1, 2});
  std::optional<Key> many(Key{1, 2, 3, 4, 5, 6});
  const Key few_copied = *few;
  const Key many_copied = *many;
  const Key few_moved = std::move(*few);
  const Key many_moved = std::move(*many);
  few.reset();
  many.reset();
  EXPECT_EQ(integers_of(few_copied), (Integers{1, 2}));
  EXPECT_EQ(integers_of(few_moved), (Integers{1, 2}));
  EXPECT_EQ(integers_of(many_copied), (Integers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(integers_of(many_moved), (Integers{1, 2, 3, 4, 5, 6}));
}

/// Longer than what a std::string holds without allocating, or shorter.
class KeyTextTest : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, KeyTextTest, ::testing::Values(3, 300));

TEST_P(KeyTextTest, ATextThatGoesAwayIsKept) {
  const std::string text(GetParam(), 'x');
  std::optional<Key> made(Key{"a" + text, 7, text + "b", std::vector<std::uint8_t>(3, 0x41), {}});
  std::optional<Key> copied(*made);
  made.reset();
  const Key moved = *std::move(copied);
  copied.reset();
  ASSERT_EQ(moved.values().size(), 5U);
  EXPECT_EQ(moved.values()[0].as_bytes(), "a" + text);
  EXPECT_EQ(moved.values()[1].as_integer(), 7);
  EXPECT_EQ(moved.values()[2].as_bytes(), text + "b");
  EXPECT_EQ(moved.values()[3].as_bytes(), "AAA");
  EXPECT_TRUE(moved.values()[4].is_null());
  const Range range = Range::prefix({"a" + text});
  EXPECT_EQ(range.lower()->values()[0].as_bytes(), "a" + text);
}

TEST(KeyTest, ATextThatHasANameIsLookedAt) {
  std::string text = "abc";
  const Key key{text};
  text[0] = 'x';
  const std::span<const Value> values = key.values();
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].as_bytes(), "xbc");
}

TEST(KeyTest, ManyAreWrittenAsListsOfLists) {
  std::vector<Key> keys{{7}, {8, "Ada"}};
  keys.push_back({9});
  for (std::int64_t id = 10; id < 100; ++id) {
    keys.push_back({id});
  }
  EXPECT_EQ(integers_of(keys[0]), Integers{7});
  const std::span<const Value> second = keys[1].values();
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[1].as_bytes(), "Ada");
  EXPECT_EQ(integers_of(keys[2]), Integers{9});
  EXPECT_EQ(integers_of(keys.back()), Integers{99});
}

TEST(KeyTest, VectorsAndSpansAreLookedAt) {
  std::vector<Value> values{1, 2};
  const Key of_vector = values;
  const Key of_span = std::span<const Value>(values).first(1);
  const std::array<Value, 2> array{5, 6};
  const Key of_array(array);
  EXPECT_EQ(of_array.values().data(), array.data());
  values[0] = 3;
  EXPECT_EQ(integers_of(of_vector), (Integers{3, 2}));
  EXPECT_EQ(integers_of(of_span), Integers{3});
}

TEST(KeyTest, AnEncodedKeyIsItsBytes) {
  const std::string_view bytes = "\x01\x02";
  const Key key = Key::encoded(bytes);
  EXPECT_TRUE(key.is_encoded());
  EXPECT_EQ(key.bytes().data(), bytes.data());
  EXPECT_TRUE(key.values().empty());
  EXPECT_TRUE(Key::encoded({}).is_encoded());
}

TEST(KeyTest, ARangeHasItsKeys) {
  const Range some = Range::between({1, 2}, {3}, Range::Bound::exclusive);
  const Range prefix = Range::prefix({1, 2, 3, 4, 5});
  EXPECT_EQ(integers_of(some.lower().value()), (Integers{1, 2}));
  EXPECT_EQ(integers_of(some.upper().value()), Integers{3});
  EXPECT_EQ(some.lower_bound(), Range::Bound::exclusive);
  EXPECT_EQ(some.upper_bound(), Range::Bound::inclusive);
  EXPECT_EQ(integers_of(prefix.lower().value()), (Integers{1, 2, 3, 4, 5}));
  EXPECT_EQ(integers_of(prefix.upper().value()), (Integers{1, 2, 3, 4, 5}));
  EXPECT_FALSE(Range::all().lower().has_value());
}

}  // namespace
}  // namespace palimpsest
