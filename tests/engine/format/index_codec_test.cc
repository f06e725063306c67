// Index entries: which rows share one, their order, decoding them into the row's key.
#include "engine/format/index_codec.h"

#include <gmock/gmock.h>

#include <algorithm>
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

/// An entry with memory of its own.
struct OwnEntry {
  std::string key;
  std::string value;

  [[nodiscard]] IndexEntry view() const { return {.key = key, .value = value}; }
};

/// Memory for any key of a random table.
struct Room {
  std::vector<char> primary = std::vector<char>(300'000);
  std::vector<char> entry = std::vector<char>(600'000);
};

OwnEntry entry_of(const IndexCodec& codec, const KeyCodec& primary, std::span<const Value> values,
                  Room& room) {
  const IndexEntry entry =
      codec.encode(values, primary.encode_row(values, room.primary), room.entry);
  return {std::string(entry.key), std::string(entry.value)};
}

TableSchema people(DataType name) {
  return {.name = "person", .columns = {{"id", int8()}, {"name", name}}, .key = {"id"}};
}

TEST(IndexCodec, BytesAreAsTheHeaderSays) {
  struct Case {
    DataType name;
    bool unique;
    Value value;
    std::string key;
    std::string entry_value;
  };
  const std::vector<Case> cases{
      {varchar(9), true, "Ada", "Ada", "\x81"},
      {varchar(9), false, "Ada", "Ada\0\0\x81"s, ""},
      {nullable(varchar(9)), true, "Ada", "\x01"s + "Ada\0\0"s, "\x81"},
      {nullable(varchar(9)), true, {}, "\0\x81"s, "\x81"},
      {nullable(varchar(9)), false, {}, "\0\x81"s, ""},
      {int8(), true, 2, "\x82", "\x81"},
      {int8(), false, 2, "\x82\x81", ""},
  };
  Room room;
  for (const Case& expected : cases) {
    const TableSchema table = people(expected.name);
    const IndexSchema index{.name = "by_name", .columns = {"name"}, .unique = expected.unique};
    const IndexCodec codec(table, index);
    const OwnEntry entry =
        entry_of(codec, KeyCodec(table), std::vector<Value>{1, expected.value}, room);
    EXPECT_EQ(entry.key, expected.key) << text_of(expected.name);
    EXPECT_EQ(entry.value, expected.entry_value) << text_of(expected.name);
    EXPECT_EQ(codec.primary_key(entry.view()), "\x81");
  }
}

/// Entries of a few rows of a random table with a random index, and the rows.
struct Entries {
  Entries(Random& random, Room& room)
      : table(test::random_schema(random)),
        index(test::random_index(random, table)),
        primary(table),
        codec(table, index) {
    for (int count = 0; count < 15; ++count) {
      rows.push_back(test::random_row(random, table));
      entries.push_back(entry_of(codec, primary, rows.back().values, room));
    }
  }

  [[nodiscard]] bool has_null(std::size_t row) const {
    return std::ranges::any_of(test::values_of(table, index.columns, rows[row].values),
                               &Value::is_null);
  }
  /// By index columns, then by the primary key if that is a part of the entry's key.
  [[nodiscard]] std::weak_ordering order(std::size_t a, std::size_t b) const {
    const auto by_index = test::order_of(table, index.columns, rows[a].values, rows[b].values);
    const bool primary_counts = !index.unique || has_null(a);
    return by_index == 0 && primary_counts
               ? test::order_of(table, table.key, rows[a].values, rows[b].values)
               : by_index;
  }

  TableSchema table;
  IndexSchema index;
  KeyCodec primary;
  IndexCodec codec;
  std::vector<test::RandomRow> rows;
  std::vector<OwnEntry> entries;
};

TEST(IndexCodec, OrderIsThatOfTheColumnsThenOfTheRows) {
  Random random(test::seed());
  Room room;
  std::size_t equal = 0;
  for (test::Rounds rounds(100); rounds.next();) {
    const Entries entries(random, room);
    for (std::size_t a = 0; a < entries.rows.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto expected = entries.order(a, b);
        const int order = entries.entries[a].key.compare(entries.entries[b].key);
        ASSERT_TRUE((order <=> 0) == expected) << text_of(entries.table.columns[0].type);
        equal += expected == 0 ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(equal, 0U);
}

TEST(IndexCodec, EntriesLeadBackToTheirRows) {
  Random random(test::seed());
  Room room;
  DecodedKey decoded;
  for (test::Rounds rounds(100); rounds.next();) {
    const Entries entries(random, room);
    for (std::size_t row = 0; row < entries.rows.size(); ++row) {
      const IndexEntry entry = entries.entries[row].view();
      ASSERT_EQ(entries.codec.primary_key(entry),
                entries.primary.encode_row(entries.rows[row].values, room.primary));
      ASSERT_EQ(entries.codec.decode(entry, decoded), std::nullopt);
      const auto expected =
          test::values_of(entries.table, entries.index.columns, entries.rows[row].values);
      for (std::size_t at = 0; at < expected.size(); ++at) {
        const std::size_t column = entries.codec.columns().columns()[at];
        ASSERT_TRUE(test::order_of(entries.table.columns[column].type, decoded.values()[at],
                                   expected[at]) == 0);
      }
    }
  }
}

TEST(IndexCodec, HostileEntriesAreRefused) {
  const TableSchema table = people(nullable(varchar(9)));
  const IndexCodec unique(table, {.name = "u", .columns = {"name"}, .unique = true});
  const IndexCodec other(table, {.name = "o", .columns = {"name"}, .unique = false});
  const std::string ada = "\x01"s + "Ada\0\0"s;
  const std::string contradict = "its key and its value contradict each other";
  DecodedKey decoded;
  EXPECT_EQ(unique.decode({.key = ada, .value = "\x81"}, decoded), std::nullopt);
  EXPECT_EQ(unique.decode({.key = "\0\x81"s, .value = "\x82"}, decoded),
            "index \"u\": " + contradict);
  EXPECT_EQ(unique.decode({.key = ada + "\x81", .value = "\x81"}, decoded),
            "index \"u\": " + contradict);
  EXPECT_EQ(other.decode({.key = ada + "\x81", .value = "\x81"}, decoded),
            "index \"o\": " + contradict);
  EXPECT_THAT(other
                  .decode({.key = "\x01"
                                  "Ada",
                           .value = ""},
                          decoded)
                  .value_or(""),
              ::testing::StartsWith("index \"o\": column \"name\""));
  EXPECT_EQ(other.primary_key({.key = "\x01"
                                      "Ada",
                               .value = ""}),
            std::nullopt);
  EXPECT_EQ(other.primary_key({.key = ada + "\x81", .value = "\x81"}), std::nullopt);
}

TEST(IndexCodec, EntriesBeyondTheMemoryAreRefused) {
  const TableSchema table = people(varchar(9));
  const IndexCodec codec(table, {.name = "by_name", .columns = {"name"}, .unique = false});
  const std::vector<Value> values{1, "Ada"};
  std::vector<char> memory(5);
  EXPECT_EQ(test::error_of([&] { return codec.encode(values, "\x81", memory).key.size(); },
                           "index \"by_name\": 5 bytes of its columns and 1 of the primary key"),
            ErrorCode::invalid_argument);
  memory.resize(6);
  EXPECT_EQ(codec.encode(values, "\x81", memory).key.size(), 6U);
}

}  // namespace
}  // namespace palimpsest::engine
