// Ranges of keys that begin with a text, cursors that start at an end or seek a key from above,
// estimates of a range's size, and keys and rows of various C++ types, compared with the rows
// themselves.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/database.h"

#include "base/random.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/temporary_directory.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::error_of;
using Texts = std::set<std::string>;

class ApiRangeTest : public ::testing::Test {
 protected:
  [[nodiscard]] static Texts keys_of(Cursor cursor) {
    Texts keys;
    for (; cursor.valid(); cursor.next()) {
      keys.emplace(cursor.row()["key"].as_bytes());
    }
    return keys;
  }
  /// A table of key columns alone, with these keys.
  Table make(const Texts& keys) {
    Table table = database_.create_table(key_value_table("t"));
    for (const std::string& key : keys) {
      table.insert({key, ""}).require();
    }
    return table;
  }
  /// A text of few bytes, among them the difficult ones.
  [[nodiscard]] static std::string any_text(Random& random, std::size_t length_max) {
    constexpr std::string_view kBytes("\0\1a\xFE\xFF", 5);
    std::string text;
    for (std::uint64_t left = random.below(length_max + 1); left > 0; --left) {
      text += kBytes[random.below(kBytes.size())];
    }
    return text;
  }

  const test::TemporaryDirectory directory_;
  Database database_ = Database::open(
      directory_.path("db"),
      {.memory_bytes = std::uint64_t{32} << 20U, .durability = Durability::asynchronous});
};

// Ranges by prefix

TEST_F(ApiRangeTest, APrefixIsAWholeValueAndABeginningIsNot) {
  const Table table = make({"a", "ab", "abc", "b", "ac"});
  EXPECT_EQ(keys_of(table.cursor(Range::prefix({"ab"}))), (Texts{"ab"}));
  EXPECT_EQ(keys_of(table.cursor(Range::starts_with({"ab"}))), (Texts{"ab", "abc"}));
  EXPECT_EQ(keys_of(table.cursor(Range::starts_with(Key::encoded("a")))),
            (Texts{"a", "ab", "abc", "ac"}));
  EXPECT_EQ(table.count(Range::starts_with({""})), 5U);
  EXPECT_EQ(table.count(Range::starts_with({})), 5U);
  EXPECT_EQ(table.erase_range(Range::starts_with({"ab"})).require(), 2U);
  EXPECT_EQ(table.count(), 3U);
}

TEST_F(ApiRangeTest, BeginningsOfAnyBytesAreRight) {
  Random random(test::seed());
  Texts keys;
  for (int i = 0; i < 400; ++i) {
    keys.insert(any_text(random, 6));
  }
  keys.erase("");
  const Table table = make(keys);
  for (int i = 0; i < 300; ++i) {
    const std::string begin = any_text(random, 3);
    Texts expected;
    std::ranges::copy_if(keys, std::inserter(expected, expected.end()),
                         [&](const std::string& key) { return key.starts_with(begin); });
    EXPECT_EQ(keys_of(table.cursor(Range::starts_with({begin}))), expected);
    EXPECT_EQ(keys_of(table.cursor(Range::starts_with(Key::encoded(begin)))), expected);
  }
}

/// Before other key columns a text is encoded differently.
TEST_F(ApiRangeTest, BeginningsOfTextsWithinAKeyAreRight) {
  Random random(test::seed());
  const Table table = database_.create_table({.name = "t",
                                              .columns = {{"group", int32()},
                                                          {"key", bytes(20)},
                                                          {"number", int32()},
                                                          {"name", nullable(varchar(20))}},
                                              .key = {"group", "key", "number"}});
  database_.create_index("t", {.name = "by_name", .columns = {"name"}});
  std::set<std::pair<int, std::string>> rows;
  for (int i = 0; i < 500; ++i) {
    const int group = static_cast<int>(random.below(3));
    const std::string key = any_text(random, 5);
    rows.emplace(group, key);
    table.insert({group, key, i, random.one_in(5) ? Value() : Value(key)}).require();
  }
  const Index by_name = table.index("by_name");
  for (int i = 0; i < 200; ++i) {
    const std::string begin = any_text(random, 3);
    Texts expected;
    for (const auto& [group, key] : rows) {
      if (group == 1 && key.starts_with(begin)) {
        expected.insert(key);
      }
    }
    EXPECT_EQ(keys_of(table.cursor(Range::starts_with({1, begin}))), expected);
    std::uint64_t named = 0;
    table.visit(Range::all(), [&](const RowView& row) {
      named += !row["name"].is_null() && row["name"].as_bytes().starts_with(begin) ? 1U : 0U;
      return true;
    });
    std::uint64_t shown = 0;
    for (Cursor cursor = by_name.cursor(Range::starts_with({begin})); cursor.valid();
         cursor.next()) {
      ++shown;
    }
    EXPECT_EQ(shown, named);
  }
}

TEST_F(ApiRangeTest, OfCharacterThePaddingBelongsToIt) {
  const Table table =
      database_.create_table({.name = "t", .columns = {{"key", character(4)}}, .key = {"key"}});
  for (const char* key : {"a", "ab", "abc", "b"}) {
    table.insert({key}).require();
  }
  EXPECT_EQ(keys_of(table.cursor(Range::starts_with({"ab"}))), (Texts{"ab", "abc"}));
  EXPECT_EQ(keys_of(table.cursor(Range::starts_with({"a "}))), (Texts{"a"}));
}

TEST_F(ApiRangeTest, OnlyTextsHaveABeginning) {
  const Table table =
      database_.create_table({.name = "t", .columns = {{"id", int64()}}, .key = {"id"}});
  EXPECT_EQ(error_of([&] { return table.count(Range::starts_with({7})); }, "\"id\""),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return table.count(Range::starts_with({1, 2})); }),
            ErrorCode::invalid_argument);
}

// Cursors

TEST_F(ApiRangeTest, ACursorAtItsEndStaysThere) {
  const Table table = make({"a", "b"});
  Cursor cursor = table.cursor();
  cursor.next();
  cursor.next();
  EXPECT_FALSE(cursor.valid());
  cursor.next();
  cursor.previous();
  EXPECT_FALSE(cursor.valid());
  cursor.seek_last();
  EXPECT_EQ(cursor.row()["key"].as_bytes(), "b");
  cursor.previous();
  cursor.previous();
  cursor.previous();
  cursor.next();
  EXPECT_FALSE(cursor.valid());
  cursor.seek_first();
  EXPECT_EQ(cursor.row()["key"].as_bytes(), "a");

  Cursor empty = table.cursor(Range::prefix({"x"}));
  empty.next();
  empty.previous();
  EXPECT_FALSE(empty.valid());
  Transaction in = database_.begin();
  Cursor ended = table.cursor(in, Range::prefix({"x"}));
  in.commit();
  ended.next();
  EXPECT_FALSE(ended.valid());
  Cursor moved = std::move(empty);
  empty.next();  // NOLINT(bugprone-use-after-move)
  EXPECT_FALSE(moved.valid());
}

TEST_F(ApiRangeTest, SeekingFromAbove) {
  Random random(test::seed());
  const Table table =
      database_.create_table({.name = "t",
                              .columns = {{"a", int32()}, {"b", int32()}, {"key", int32()}},
                              .key = {"a", "b"}});
  std::set<std::pair<int, int>> rows;
  for (int i = 0; i < 200; ++i) {
    const int a = static_cast<int>(random.below(40));
    const int b = static_cast<int>(random.below(20));
    if (rows.emplace(a, b).second) {
      table.insert({a, b, a * 100 + b}).require();
    }
  }
  const auto last_at_or_before = [&](std::pair<int, int> key, int from,
                                     int to) -> std::optional<std::pair<int, int>> {
    auto found = rows.upper_bound(std::min(key, {to, 1000}));
    if (found == rows.begin() || (--found)->first < from) {
      return std::nullopt;
    }
    return *found;
  };
  for (int i = 0; i < 500; ++i) {
    const int from = static_cast<int>(random.below(40));
    const int to = from + static_cast<int>(random.below(20));
    Cursor bounded = table.cursor(Range::between({from}, {to}));
    const int a = static_cast<int>(random.below(45));
    const int b = static_cast<int>(random.below(22));
    const bool is_whole = random.one_in(2);
    is_whole ? bounded.seek_at_or_before({a, b}) : bounded.seek_at_or_before({a});
    const auto expected = last_at_or_before({a, is_whole ? b : 1000}, from, to);
    ASSERT_EQ(bounded.valid(), expected.has_value());
    if (expected) {
      EXPECT_EQ(bounded.row()["a"].as_integer(), expected->first);
      EXPECT_EQ(bounded.row()["b"].as_integer(), expected->second);
      bounded.next();
      const auto next = rows.upper_bound(*expected);
      EXPECT_EQ(bounded.valid(), next != rows.end() && next->first <= to);
    }
  }
}

/// Rows inserted between the cursor's position and the key would have been read.
TEST_F(ApiRangeTest, WhatWasSoughtFromAboveIsWhatASerializableTransactionHasRead) {
  const Table table =
      database_.create_table({.name = "t", .columns = {{"a", int32()}}, .key = {"a"}});
  database_.create_table({.name = "u", .columns = {{"a", int32()}}, .key = {"a"}});
  for (const int a : {10, 20}) {
    table.insert({a}).require();
  }
  const Table other = database_.table("u");
  const auto commits = [&](int inserted) {
    Transaction reader = database_.begin({.isolation = Isolation::serializable});
    Cursor below = table.cursor(reader, Range::between({12}, {100}));
    below.seek_at_or_before({18});
    other.insert(reader, {inserted}).require();
    table.insert({inserted}).require();
    return !error_of([&] { return reader.commit(), 0; }).has_value();
  };
  EXPECT_FALSE(commits(15)) << "a phantom below the key";
  EXPECT_TRUE(commits(30)) << "above the key it has not looked";
}

// Estimates

TEST_F(ApiRangeTest, SizesAreAboutWhatThereIs) {
  const Table table = database_.create_table(
      {.name = "t", .columns = {{"id", int64()}, {"body", bytes(4000)}}, .key = {"id"}});
  EXPECT_EQ(table.approximate_size().rows, 0U);
  constexpr std::int64_t kRows = 20'000;
  Random random(test::seed());
  database_.run([&](Transaction& in) {
    for (std::int64_t id = 0; id < kRows; ++id) {
      const std::string body(50 + random.below(100), 'b');
      table.insert(in, {id, body}).require();
    }
  });
  const RangeSize all = table.approximate_size();
  EXPECT_NEAR(static_cast<double>(all.rows), kRows, 0.2 * kRows);
  EXPECT_NEAR(static_cast<double>(all.bytes), 112.0 * kRows, 0.25 * 112 * kRows);
  for (int i = 0; i < 100; ++i) {
    const auto from = static_cast<std::int64_t>(random.below(kRows));
    const auto to = from + static_cast<std::int64_t>(random.below(kRows - 1));
    const double expected = static_cast<double>(std::min(to, kRows - 1) - from + 1);
    const auto rows =
        static_cast<double>(table.approximate_size(Range::between({from}, {to})).rows);
    EXPECT_NEAR(rows, expected, 0.2 * expected + 5) << from << " to " << to;
  }
  EXPECT_EQ(table.approximate_size(Range::between({100}, {104})).rows, 5U) << "within a page";
  EXPECT_EQ(table.approximate_size(Range::between({9}, {5})).rows, 0U);
  EXPECT_EQ(table.approximate_size(Range::from({kRows})).rows, 0U);
  EXPECT_EQ(table.count(Range::from({kRows - 10})), 10U);
  const auto erase = [&](Transaction& in) {
    table.erase_range(in, Range::from({kRows / 2})).require();
  };
  database_.run(erase, {.transaction = {.bulk = true}});
  EXPECT_NEAR(static_cast<double>(table.approximate_size().rows), kRows / 2, 0.2 * kRows / 2);
}

TEST_F(ApiRangeTest, LargeRowsHaveTheirSize) {
  const Table table = database_.create_table(key_value_table("t"));
  const std::string large(500'000, 'x');
  table.insert({"a", large}).require();
  table.insert({"b", "small"}).require();
  const RangeSize size = table.approximate_size();
  EXPECT_EQ(size.rows, 2U);
  EXPECT_NEAR(static_cast<double>(size.bytes), 500'000, 1000);
}

TEST_F(ApiRangeTest, CountsAreWhatATransactionSees) {
  const Table table = make({"a", "b", "c"});
  Transaction in = database_.begin();
  table.erase({"b"}).require();
  EXPECT_EQ(table.count(), 2U);
  EXPECT_EQ(table.count(in), 3U);
  table.insert(in, {"d", ""}).require();
  EXPECT_EQ(table.count(in, Range::from({"b"})), 3U);
}

// Values and keys

TEST_F(ApiRangeTest, KeysAndRowsOfWhateverThereIs) {
  const Table table = make({});
  const std::vector<std::uint8_t> bytes{1, 2, 255};
  table.insert({bytes, std::as_bytes(std::span(bytes))}).require();
  const std::optional<Row> row = table.get({std::string("\1\2") + '\xFF'});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->bytes(), "\1\2\xFF");
  const std::string name = "7";
  table.insert({name, "seven"}).require();
  EXPECT_TRUE(table.get({"" + name}));
  EXPECT_TRUE(table.erase({name + ""}));

  const Table sizes = database_.create_table(
      {.name = "s", .columns = {{"id", int64()}, {"size", int64()}}, .key = {"id"}});
  sizes.insert({std::uint64_t{7}, bytes.size()}).require();
  EXPECT_EQ((*sizes.get({std::size_t{7}}))["size"].as_integer(), 3);
  EXPECT_EQ(error_of([&] { return sizes.get({~std::uint64_t{0}}); }), ErrorCode::invalid_argument);
}

// Tables

TEST_F(ApiRangeTest, ATableIsFoundOrMade) {
  const TableSchema schema{
      .name = "t", .columns = {{"id", int64()}, {"n", int32()}}, .key = {"id"}};
  const Table made = database_.find_or_create_table(schema);
  made.insert({1, 2}).require();
  EXPECT_EQ(database_.find_or_create_table(schema).count(), 1U);
  TableSchema other = schema;
  other.columns[1].type = int64();
  EXPECT_EQ(error_of([&] { return database_.find_or_create_table(other), 0; },
                     "column 2 is \"n\" int32, not \"n\" int64"),
            ErrorCode::already_exists);
  other = schema;
  other.columns.push_back({"more", int8()});
  EXPECT_EQ(error_of([&] { return database_.find_or_create_table(other), 0; },
                     "column 3 is none, not \"more\" int8"),
            ErrorCode::already_exists);
  other = schema;
  other.key = {"id", "n"};
  EXPECT_EQ(error_of([&] { return database_.find_or_create_table(other), 0; }, "(id), not (id, n)"),
            ErrorCode::already_exists);
}

}  // namespace
}  // namespace palimpsest
