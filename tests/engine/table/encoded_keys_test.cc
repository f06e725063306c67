// Keys and ranges: limits, first columns, bounds at the maximum key size of a page.
#include "engine/table/encoded_keys.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/table/table_fixture.h"

namespace palimpsest::engine::test {
namespace {

constexpr std::size_t kMax = 512;  // with the fixture's pages

TableSchema orders() {
  return {.name = "orders",
          .columns = {{"shop", types::int32()}, {"code", types::varchar(600)}},
          .key = {"shop", "code"}};
}

std::string lower_of(const KeySpace& space, const Range& range) {
  return std::string(EncodedRange(space, range).keys().lower);
}

std::optional<std::string> upper_of(const KeySpace& space, const Range& range) {
  const EncodedRange encoded(space, range);
  return encoded.keys().upper ? std::optional(std::string(*encoded.keys().upper)) : std::nullopt;
}

class EncodedKeys : public ::testing::Test {
 protected:
  OneTable table_{orders(), {{.name = "by_code", .columns = {"code"}}}};
  OneTable blobs_{key_value_table("blobs")};
  KeySpace orders_{table_.format(), *table_.current().rows};
  KeySpace by_code_{table_.format(), 0, *table_.current().indexes[0]};
  KeySpace keys_{blobs_.format(), *blobs_.current().rows};
  KeyMemory memory_;
};

TEST_F(EncodedKeys, WholeKeysAreJudged) {
  const std::string whole(orders_.whole({7, "x"}, memory_));
  EXPECT_EQ(whole, std::string("\x80\0\0\7x", 5));
  EXPECT_EQ(orders_.whole(Key::encoded(whole), memory_), whole);
  const auto refuses = [&](const KeySpace& space, const Key& key, const char* why) {
    return error_of([&] { return space.whole(key, memory_); }, std::string_view(why)) ==
           ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refuses(orders_, {7}, "table \"orders\": a key of 1 values: it has 2 columns"));
  EXPECT_TRUE(refuses(orders_, {7, "x", 1}, "a key of 3 values"));
  EXPECT_TRUE(refuses(orders_, {7, 8}, "column \"code\""));
  EXPECT_TRUE(refuses(orders_, Key::encoded("\x80"), "1 bytes that are not a key"));
  EXPECT_TRUE(refuses(by_code_, Key::encoded("x"), "index \"by_code\": keys of an index"));
  EXPECT_TRUE(refuses(keys_, Key::encoded(""), "table \"blobs\": a key of 0 bytes"));
  EXPECT_TRUE(refuses(keys_, {""}, "a key of 0 bytes: keys must have 1 to 512"));
  const std::string longest(kMax, 'k');
  EXPECT_EQ(keys_.whole(Key::encoded(longest), memory_), longest);
  EXPECT_EQ(keys_.whole({longest}, memory_), longest);
  const std::string longer(kMax + 1, 'k');
  EXPECT_TRUE(refuses(keys_, Key::encoded(longer), "table \"blobs\": a key of 513 bytes"));
  EXPECT_TRUE(refuses(keys_, {longer}, "table \"blobs\": a key of more than 512 bytes"));
}

TEST_F(EncodedKeys, BoundsStandForAllKeysThatBeginWithThem) {
  const std::string seven("\x80\0\0\7", 4);
  const std::string eight("\x80\0\0\x8", 4);
  EXPECT_EQ(lower_of(orders_, Range::all()), "");
  EXPECT_EQ(upper_of(orders_, Range::all()), std::nullopt);
  EXPECT_EQ(lower_of(orders_, Range::prefix({7})), seven);
  EXPECT_EQ(upper_of(orders_, Range::prefix({7})), eight);
  EXPECT_EQ(lower_of(orders_, Range::from({7}, Range::Bound::exclusive)), eight);
  EXPECT_EQ(upper_of(orders_, Range::up_to({7}, Range::Bound::exclusive)), seven);
  EXPECT_EQ(upper_of(orders_, Range::up_to({7, "x"})), seven + std::string("x\0", 2));
  EXPECT_EQ(lower_of(orders_, Range::from({7, "x"}, Range::Bound::exclusive)),
            seven + std::string("x\0", 2));
  EXPECT_EQ(upper_of(orders_, Range::up_to(Key::encoded(seven.substr(0, 3)))),
            std::string("\x80\0\1", 3));
  EXPECT_EQ(upper_of(orders_, Range::up_to(Key::encoded(seven))),  // of an empty code
            seven + std::string("\0", 1));
  EXPECT_EQ(upper_of(orders_, Range::up_to(Key::encoded(seven + "x"))),
            seven + std::string("x\0", 2));
  EXPECT_EQ(upper_of(by_code_, Range::prefix({"x"})), std::string("x\0\1", 3));
}

TEST_F(EncodedKeys, NothingIsAboveTheLongestKey) {
  std::string longest(kMax, 'k');
  longest.back() = '\xFF';
  std::string above(kMax - 1, 'k');
  above.back() = 'l';
  EXPECT_EQ(upper_of(keys_, Range::up_to({longest})), above);
  EXPECT_EQ(upper_of(keys_, Range::up_to(Key::encoded(longest))), above);
  const std::string last(kMax, '\xFF');
  EXPECT_EQ(upper_of(keys_, Range::up_to({last})), std::nullopt);
  EXPECT_EQ(upper_of(keys_, Range::up_to(Key::encoded(last))), std::nullopt);
  const EncodedRange none(keys_, Range::from({last}, Range::Bound::exclusive));
  ASSERT_TRUE(none.keys().upper);
  EXPECT_LE(*none.keys().upper, none.keys().lower);
  const std::string longer(kMax + 1, 'k');
  EXPECT_EQ(error_of([&] { EncodedRange(keys_, Range::from(Key::encoded(longer))); }, "blobs"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { EncodedRange(orders_, Range::from({1, "x", 2})); }, "3 values"),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace palimpsest::engine::test
