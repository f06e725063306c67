// Keys: byte by byte, their order compared with that of values, prefixes, and hostile ones.
#include "engine/format/key_codec.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using namespace std::string_literals;
using namespace std::string_view_literals;

std::string encoded(const KeyCodec& codec, const std::vector<Value>& values) {
  KeyMemory memory;
  return std::string(codec.encode(values, memory));
}

std::string above(const KeyCodec& codec, const std::vector<Value>& values) {
  KeyMemory memory;
  return std::string(codec.encode_above(values, memory).value_or("none"));
}

/// The key of one column, which another may follow.
std::string key_of(const DataType& type, const Value& value) {
  const TableSchema table{.name = "t", .columns = {{"c", type}}, .key = {"c"}};
  return encoded(KeyCodec(table, table.key, KeyEnd::closed), {value});
}

int sign_of(int number) {
  return (number > 0 ? 1 : 0) - (number < 0 ? 1 : 0);
}
int sign_of(std::weak_ordering order) {
  return (order > 0 ? 1 : 0) - (order < 0 ? 1 : 0);
}

TEST(KeyCodec, BytesAreAsTheHeaderSays) {
  EXPECT_EQ(key_of(boolean(), true), "\x01");
  EXPECT_EQ(key_of(int8(), -1), "\x7F");
  EXPECT_EQ(key_of(int16(), 1), "\x80\x01");
  EXPECT_EQ(key_of(int32(), -2), "\x7F\xFF\xFF\xFE");
  EXPECT_EQ(key_of(int64(), 0x0102), "\x80\0\0\0\0\0\x01\x02"s);
  EXPECT_EQ(key_of(float32(), 1), "\xBF\x80\0\0"s);
  EXPECT_EQ(key_of(float64(), -2), "\x3F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  EXPECT_EQ(key_of(float64(), -0.0), "\x80\0\0\0\0\0\0\0"s);
  EXPECT_EQ(key_of(float64(), -std::numeric_limits<double>::quiet_NaN()), "\xFF\xF8\0\0\0\0\0\0"s);
  EXPECT_EQ(key_of(decimal(18, 2), Decimal::of(-1, 2)), "\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  EXPECT_EQ(key_of(decimal(19), 1), "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"s);
  EXPECT_EQ(key_of(date(), Date(1)), "\x80\0\0\x01"s);
  EXPECT_EQ(key_of(timestamp(), Timestamp(-1)), "\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF");
  EXPECT_EQ(key_of(character(4), "ab "), "ab  ");
  EXPECT_EQ(key_of(varchar(4), "a\0\xFF"sv), "a\0\xFF\xFF\0\0"s);
  EXPECT_EQ(key_of(bytes(4), ""), "\0\0"s);
  EXPECT_EQ(key_of(nullable(int8()), {}), "\0"s);
  EXPECT_EQ(key_of(nullable(int8()), 0), "\x01\x80");
}

TEST(KeyCodec, OnlyALastTextIsOpen) {
  const TableSchema table{
      .name = "t", .columns = {{"a", varchar(9)}, {"b", varchar(9)}}, .key = {"b", "a"}};
  const KeyCodec codec(table);
  EXPECT_EQ(encoded(codec, {"x", "y"}), "x\0\0y"s);
  const std::string zero = "y\0z"s;
  EXPECT_EQ(encoded(codec, {zero, zero}), "y\0\xFFz\0\0y\0z"s);
  EXPECT_EQ(encoded(codec, {zero}), "y\0\xFFz\0\0"s);
  KeyMemory memory;
  EXPECT_EQ(codec.encode_row(std::vector<Value>{"a", "b"}, memory), "b\0\0a"s);
  const KeyCodec plain(key_value_table("blobs"));
  EXPECT_EQ(encoded(plain, {zero}), zero);
}

TEST(KeyCodec, OrderIsTheOrderOfTheColumns) {
  Random random(test::seed());
  std::vector<char> memory(300'000);
  std::size_t equal = 0;
  for (test::Rounds rounds(100); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const KeyCodec codec(table);
    std::vector<test::RandomRow> rows;
    std::vector<std::string> keys;
    for (int count = 0; count < 20; ++count) {
      rows.push_back(test::random_row(random, table));
      keys.emplace_back(codec.encode_row(rows.back().values, memory));
    }
    for (std::size_t a = 0; a < rows.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const int expected =
            sign_of(test::order_of(table, table.key, rows[a].values, rows[b].values));
        ASSERT_EQ(sign_of(keys[a].compare(keys[b])), expected)
            << text_of(table.columns[0].type) << " and others";
        equal += expected == 0 ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(equal, 0U);
}

TEST(KeyCodec, NullsAreFirst) {
  EXPECT_LT(key_of(nullable(int8()), {}), key_of(nullable(int8()), -128));
  EXPECT_LT(key_of(nullable(varchar(3)), {}), key_of(nullable(varchar(3)), ""));
  EXPECT_LT(key_of(nullable(float64()), {}),
            key_of(nullable(float64()), -std::numeric_limits<double>::infinity()));
}

TEST(KeyCodec, AnyKeyComesBack) {
  Random random(test::seed());
  std::vector<char> memory(300'000);
  DecodedKey decoded;
  for (test::Rounds rounds(1000); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const KeyCodec codec(table);
    const test::RandomRow row = test::random_row(random, table);
    const ByteView key = codec.encode_row(row.values, memory);
    ASSERT_EQ(codec.decode(key, decoded), std::nullopt);
    EXPECT_EQ(decoded.rest(), "");
    EXPECT_EQ(codec.bytes_of(key), key.size());
    const auto expected = test::values_of(table, table.key, row.values);
    ASSERT_EQ(decoded.values().size(), expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      const auto& type = table.columns[codec.columns()[at]].type;
      ASSERT_TRUE(test::order_of(type, decoded.values()[at], expected[at]) == 0) << expected[at];
    }
  }
}

TEST(KeyCodec, ClosedKeysEndWhereTheyEnd) {
  Random random(test::seed());
  std::vector<char> memory(300'000);
  DecodedKey decoded;
  for (test::Rounds rounds(500); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const IndexSchema index = test::random_index(random, table);
    const KeyCodec codec(table, index.columns, KeyEnd::closed);
    const test::RandomRow row = test::random_row(random, table);
    std::string key(codec.encode_row(row.values, memory));
    const std::size_t size = key.size();
    key += "\0\xFFrest"s.substr(random.below(6));
    ASSERT_EQ(codec.decode(key, decoded), std::nullopt);
    EXPECT_EQ(decoded.rest(), ByteView(key).substr(size));
    EXPECT_EQ(codec.bytes_of(key), size);
  }
}

TEST(KeyCodec, PrefixesBoundTheirKeys) {
  Random random(test::seed());
  std::vector<char> low_memory(300'000);
  std::vector<char> high_memory(300'000);
  std::vector<char> memory(300'000);
  std::size_t inside = 0;
  for (test::Rounds rounds(500); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const KeyCodec codec(table);
    const test::RandomRow wanted = test::random_row(random, table);
    const std::size_t count = random.between(1, table.key.size());
    const std::vector<std::string> names(table.key.begin(),
                                         table.key.begin() + static_cast<std::ptrdiff_t>(count));
    const auto first = test::values_of(table, names, wanted.values);
    const ByteView low = codec.encode(first, low_memory);
    const auto high = codec.encode_above(first, high_memory);
    for (int count_of_rows = 0; count_of_rows < 10; ++count_of_rows) {
      const test::RandomRow row = test::random_row(random, table);
      const ByteView key = codec.encode_row(row.values, memory);
      const bool is_inside = low <= key && (!high || key < *high);
      const bool is_equal = test::order_of(table, names, row.values, wanted.values) == 0;
      ASSERT_EQ(is_inside, is_equal);
      inside += is_inside ? 1U : 0U;
    }
  }
  EXPECT_GT(inside, 0U);
}

TEST(KeyCodec, TheBoundAboveIsTheNext) {
  const TableSchema table{
      .name = "t", .columns = {{"a", int8()}, {"b", varchar(9)}}, .key = {"a", "b"}};
  const KeyCodec codec(table);
  EXPECT_EQ(above(codec, {1}), "\x82");
  EXPECT_EQ(above(codec, {1, "x"}), "\x81x\0"s);
  EXPECT_EQ(above(codec, {127}), "none");
  EXPECT_EQ(above(codec, {}), "none");
  std::string prefix = "a\xFF\xFF";
  EXPECT_EQ(successor_of_prefix(prefix), "b");
  prefix = "\x7F";
  EXPECT_EQ(successor_of_prefix(prefix), "\x80");
}

TEST(KeyCodec, ValuesThatDoNotFitAreRefused) {
  const TableSchema table{
      .name = "t", .columns = {{"a", int8()}, {"b", varchar(3)}}, .key = {"a", "b"}};
  const KeyCodec codec(table);
  EXPECT_EQ(test::error_of([&] { return encoded(codec, {128}); },
                           "table \"t\", column \"a\" of type int8: 128 is beyond -128 to 127"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(test::error_of([&] { return encoded(codec, {1, {}}); }, "column \"b\""),
            ErrorCode::invalid_argument);
}

TEST(KeyCodec, KeysBeyondTheMemoryAreRefused) {
  const TableSchema table{.name = "t",
                          .columns = {{"a", int16()}, {"b", character(3)}, {"c", varchar(9)}},
                          .key = {"a", "b", "c"}};
  const KeyCodec codec(table);
  const std::vector<Value> values{1, "abc", "de"};
  for (std::size_t room = 0; room < 9; ++room) {
    std::vector<char> memory(room);
    memory.shrink_to_fit();
    const auto encode = [&] { return codec.encode(values, memory).size(); };
    if (room < 7) {
      EXPECT_EQ(test::error_of(encode, "table \"t\": a key of more than"),
                ErrorCode::invalid_argument);
    } else {
      EXPECT_EQ(encode(), 7U);
    }
  }
}

TEST(KeyCodec, HostileKeysAreRefused) {
  const auto fault = [](const DataType& type, const std::string& key, KeyEnd end) {
    const TableSchema table{.name = "t", .columns = {{"c", type}}, .key = {"c"}};
    const KeyCodec codec(table, table.key, end);
    DecodedKey decoded;
    const auto found = codec.decode(key, decoded);
    EXPECT_EQ(codec.is_surely_valid(key), !found.has_value());
    return found.value_or("a key");
  };
  const auto closed = KeyEnd::closed;
  const std::string cut_off =
      "column \"c\" of a key: its bytes are cut off, or do not have its form";
  EXPECT_EQ(fault(int32(), "\x80\0\0"s, closed), cut_off);
  EXPECT_EQ(fault(nullable(int8()), "", closed), cut_off);
  EXPECT_EQ(fault(nullable(int8()), "\x01", closed), cut_off);
  EXPECT_EQ(fault(nullable(int8()), "\x02\x80", closed), cut_off);
  EXPECT_EQ(fault(varchar(9), "abc", closed), cut_off);
  EXPECT_EQ(fault(varchar(9), "abc\0"s, closed), cut_off);
  EXPECT_EQ(fault(varchar(9), "abc\0\x01\0\0"s, closed), cut_off);
  EXPECT_THAT(fault(varchar(2), "abc\0\0"s, closed), ::testing::HasSubstr("3 bytes are too long"));
  EXPECT_THAT(fault(varchar(2), "abc", KeyEnd::open), ::testing::HasSubstr("too long"));
  EXPECT_THAT(fault(boolean(), "\x02", closed), ::testing::HasSubstr("neither false nor true"));
  EXPECT_THAT(fault(decimal(2), "\x80\0\0\0\0\0\0\x64"s, closed),
              ::testing::HasSubstr("more than 2 digits"));
  EXPECT_THAT(fault(decimal(2), "\x7F\xFF\xFF\xFF\xFF\xFF\xFF\x9C"s, closed),
              ::testing::HasSubstr("more than 2 digits"));
  EXPECT_EQ(fault(decimal(2), "\x80\0\0\0\0\0\0\x63"s, closed), "a key");
  EXPECT_EQ(fault(decimal(2), "\x7F\xFF\xFF\xFF\xFF\xFF\xFF\x9D"s, closed), "a key");
  const std::string other = "a number that is not in the form of keys";
  EXPECT_THAT(fault(float32(), "\x7F\xFF\xFF\xFF", closed), ::testing::HasSubstr(other)) << "-0";
  EXPECT_THAT(fault(float64(), "\xFF\xF8\0\0\0\0\0\x01"s, closed), ::testing::HasSubstr(other));
  EXPECT_THAT(fault(float64(), "\0\x01\0\0\0\0\0\0"s, closed), ::testing::HasSubstr(other));
}

TEST(KeyCodec, PlainKeysAreSurelyValid) {
  const TableSchema table{.name = "t",
                          .columns = {{"a", int64()},
                                      {"b", nullable(varchar(5))},
                                      {"c", character(3)},
                                      {"d", varchar(2)}},
                          .key = {"a", "b", "c", "d"}};
  const KeyCodec codec(table);
  EXPECT_TRUE(codec.is_surely_valid(encoded(codec, {7, "text", "ab", "de"})));
  EXPECT_TRUE(codec.is_surely_valid(encoded(codec, {-7, {}, "", ""})));
  EXPECT_FALSE(codec.is_surely_valid(encoded(codec, {7, "te\0t"sv, "ab", "de"})))
      << "asks decode()";
}

TEST(KeyCodec, WhatDecodesEncodesToTheSameBytes) {
  Random random(test::seed());
  std::vector<char> memory(300'000);
  DecodedKey decoded;
  std::size_t accepted = 0;
  for (test::Rounds rounds(2000); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const KeyCodec codec(table);
    std::string key(codec.encode_row(test::random_row(random, table).values, memory));
    for (std::uint64_t edits = random.between(1, 3); edits > 0 && !key.empty(); --edits) {
      key[random.below(key.size())] = static_cast<char>(random.one_in(2) ? random() : 0);
    }
    key.resize(random.one_in(4) ? random.below(key.size() + 1) : key.size());
    key.shrink_to_fit();
    const bool decodes = !codec.decode(key, decoded);
    ASSERT_TRUE(decodes || !codec.is_surely_valid(key));
    const bool is_key = decodes && decoded.rest().empty();
    if (is_key) {
      ++accepted;
      ASSERT_EQ(codec.encode(decoded.values(), memory), key);
    }
    ASSERT_TRUE(!is_key || codec.bytes_of(key) == key.size());
  }
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace palimpsest::engine
