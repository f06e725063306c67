// Rows: byte by byte, compared with models, and hostile ones.
#include "engine/format/row_layout.h"

#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "palimpsest/value_editor.h"

#include "base/random.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using namespace std::string_literals;

std::string encoded(const RowLayout& layout, const std::vector<Value>& values) {
  std::string row = "what was there before";
  layout.encode(values, row);
  return row;
}

TableSchema mixed() {
  return {.name = "mixed",
          .columns = {{"id", int32()},
                      {"a", nullable(int16())},
                      {"b", character(3)},
                      {"c", nullable(varchar(10))},
                      {"d", decimal(5, 2)},
                      {"e", bytes(10)}},
          .key = {"id"}};
}

TEST(RowLayout, AColumnOfBytesIsTheRow) {
  const RowLayout layout(key_value_table("blobs"));
  EXPECT_EQ(encoded(layout, {"key", "any bytes"}), "any bytes");
  EXPECT_EQ(encoded(layout, {"key", ""}), "");
  EXPECT_EQ(layout.value("any bytes", 1), Value("any bytes"));
  EXPECT_EQ(layout.place(0).kind, PlaceKind::key);
}

TEST(RowLayout, BytesAreAsTheHeaderSays) {
  const RowLayout layout(mixed());
  EXPECT_EQ(encoded(layout, {1, -2, "x", "abc", Decimal::of(-1, 2), "de"}),
            "\x00"                              // nulls
            "\xFE\xFF"                          // a
            "x  "                               // b
            "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"  // d
            "\x03\x00"                          // the end of c
            "abcde"s);
  EXPECT_EQ(encoded(layout, {1, {}, "x", {}, Decimal::of(7), ""}),
            "\x03"
            "\x00\x00"
            "x  "
            "\xBC\x02\x00\x00\x00\x00\x00\x00"
            "\x00\x00"s);
}

TEST(RowLayout, AllFixedTypesAreLittleEndian) {
  const TableSchema table{.name = "t",
                          .columns = {{"id", int8()},
                                      {"a", boolean()},
                                      {"b", int64()},
                                      {"c", float32()},
                                      {"d", float64()},
                                      {"e", decimal(19)},
                                      {"f", date()},
                                      {"g", timestamp()}},
                          .key = {"id"}};
  const RowLayout layout(table);
  const std::string row = encoded(
      layout, {1, true, -2, 1.0, -2.0, Decimal::of(-3), Date(0x01020304), Timestamp(0x0102)});
  EXPECT_EQ(row,
            "\x01"
            "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
            "\x00\x00\x80\x3F"
            "\x00\x00\x00\x00\x00\x00\x00\xC0"
            "\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"
            "\x04\x03\x02\x01"
            "\x02\x01\x00\x00\x00\x00\x00\x00"s);
  EXPECT_EQ(layout.value(row, 1), Value(true));
  EXPECT_EQ(layout.value(row, 2), Value(-2));
  EXPECT_EQ(layout.value(row, 3), Value(1.0F));
  EXPECT_EQ(layout.value(row, 4), Value(-2.0));
  EXPECT_EQ(layout.value(row, 6), Value(Date(0x01020304)));
  EXPECT_EQ(layout.value(row, 7), Value(Timestamp(0x0102)));
}

TEST(RowLayout, LongColumnsHaveWideOffsets) {
  TableSchema table{.name = "t",
                    .columns = {{"id", int8()}, {"a", varchar(65'000)}, {"b", varchar(535)}},
                    .key = {"id"}};
  EXPECT_EQ(encoded(RowLayout(table), {1, "ab", "c"}),
            "\x02\x00"
            "abc"s);
  table.columns[2].type.length = 536;
  EXPECT_EQ(encoded(RowLayout(table), {1, "ab", "c"}),
            "\x02\x00\x00\x00"
            "abc"s);
}

TEST(RowLayout, OffsetsReachAsFarAsTheLengths) {
  const TableSchema table{.name = "t",
                          .columns = {{"id", int8()}, {"a", varchar(65'535)}, {"b", bytes(70'000)}},
                          .key = {"id"}};
  const RowLayout layout(table);
  const std::string a(65'535, 'a');
  const std::string b(70'000, 'b');
  const std::string row = encoded(layout, {1, a, b});
  EXPECT_EQ(layout.validate(row), std::nullopt);
  EXPECT_EQ(layout.value(row, 1), Value(a));
  EXPECT_EQ(layout.value(row, 2), Value(b));
}

TEST(RowLayout, SpacesAtTheEndOfCharDoNotCount) {
  const RowLayout layout(mixed());
  const std::string row = encoded(layout, {1, 1, " a     ", "", Decimal(), ""});
  EXPECT_EQ(layout.value(row, 2), Value(" a"));
  EXPECT_EQ(RowLayout::padded(row, layout.place(2)), " a");
  EXPECT_EQ(encoded(layout, {1, 1, " a", "", Decimal(), ""}), row);
}

TEST(RowLayout, NinthNullIsInTheSecondByte) {
  TableSchema table{.name = "t", .columns = {{"id", int8()}}, .key = {"id"}};
  std::vector<Value> values{1};
  for (int column = 0; column < 9; ++column) {
    table.columns.push_back({std::string(1, static_cast<char>('a' + column)), nullable(int8())});
    values.emplace_back(column);
  }
  values.back() = {};
  const RowLayout layout(table);
  EXPECT_EQ(encoded(layout, values),
            "\x00\x01"
            "\0\1\2\3\4\5\6\7\0"s);
}

TEST(RowLayout, ValuesThatDoNotFitAreRefused) {
  const RowLayout layout(mixed());
  const std::vector<Value> good{1, 1, "x", "y", Decimal(), "z"};
  struct Case {
    std::size_t column;
    Value value;
    std::string message;
  };
  const std::vector<Case> cases{
      {1, 32'768, "column \"a\" of type nullable(int16): 32768 is beyond -32768 to 32767"},
      {1, -32'769, "-32769 is beyond"},
      {1, "1", "bytes is not one of its values"},
      {2, {}, "column \"b\" of type character(3): it is never null"},
      {2, "abcd", "4 bytes are too long"},
      {3, "12345678901", "11 bytes are too long"},
      {4, Decimal::of(1, 3), "0.001 has more digits"},
      {4, Decimal::of(1000), "1000 has more digits"},
      {4, 1000, "1000 has more digits"},
  };
  for (const Case& wrong : cases) {
    std::vector<Value> values = good;
    values[wrong.column] = wrong.value;
    std::string row;
    EXPECT_EQ(test::error_of([&] { return layout.encode(values, row), 0; },
                             "table \"mixed\", column \""s),
              ErrorCode::invalid_argument);
    EXPECT_EQ(test::error_of([&] { return layout.encode(values, row), 0; }, wrong.message),
              ErrorCode::invalid_argument);
  }
  EXPECT_EQ(misfit(float32(), 1e39).value_or(""), "1e+39 is beyond the range of the type");
  EXPECT_EQ(misfit(float32(), std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(misfit(float32(), 0.1), std::nullopt);
  EXPECT_EQ(misfit(float64(), std::int64_t{1} << 53), std::nullopt);
  EXPECT_EQ(misfit(float64(), (std::int64_t{1} << 53) + 1).value_or(""),
            "9007199254740993 as an integer is beyond -9007199254740992 to 9007199254740992");
  EXPECT_EQ(misfit(float32(), -(1 << 24) - 1).value_or(""),
            "-16777217 as an integer is beyond -16777216 to 16777216");
  EXPECT_EQ(misfit(int64(), std::numeric_limits<std::int64_t>::min()), std::nullopt);
}

TEST(RowLayout, RowsThatAreTooLongAreRefused) {
  const TableSchema table{
      .name = "t", .columns = {{"id", int8()}, {"a", bytes()}, {"b", bytes()}}, .key = {"id"}};
  table.validate();
  const RowLayout layout(table);
  // Never read, so the system never provides the memory.
  const std::size_t half_bytes = kRowBytesMax / 2;
  const std::unique_ptr<char[]> memory(new char[half_bytes]);
  const ByteView half(memory.get(), half_bytes);
  std::string row;
  const std::string reason = "table \"t\": a row of 1073741828 bytes beside its key";
  EXPECT_EQ(test::error_of([&] { return layout.encode(std::vector<Value>{1, half, half}, row), 0; },
                           reason),
            ErrorCode::invalid_argument);
  const std::string small = encoded(layout, {1, "a", "b"});
  const std::vector<ColumnChange> changes{{1, half}, {2, half}};
  row = "as before";
  EXPECT_EQ(test::error_of([&] { return layout.change(small, changes, row), 0; }, reason),
            ErrorCode::invalid_argument);
  EXPECT_EQ(row, "as before");
  const std::unique_ptr<char[]> stored(new char[kRowBytesMax + 1]);
  EXPECT_EQ(layout.validate(ByteView(stored.get(), kRowBytesMax + 1)),
            "a row of 1073741825 bytes is too long: the longest has 1073741824");
}

void change_in_place(const RowLayout& layout, std::string& row,
                     const std::vector<ColumnChange>& changes) {
  ValueEditor value(row, nullptr);
  layout.change_in_place(value, changes);
}

TEST(RowLayout, ChangesInPlace) {
  const RowLayout layout(mixed());
  std::string row = encoded(layout, {1, 2, "abc", {}, Decimal::of(7), "tail"});
  const std::vector<ColumnChange> changes{{1, Value()}, {2, "z"}, {4, Decimal::of(-995, 2)}};
  ASSERT_TRUE(layout.are_in_place(changes));
  change_in_place(layout, row, changes);
  EXPECT_EQ(row, encoded(layout, {1, {}, "z", {}, Decimal::of(-995, 2), "tail"}));
  change_in_place(layout, row, std::vector<ColumnChange>{{1, 5}});
  EXPECT_EQ(row, encoded(layout, {1, 5, "z", {}, Decimal::of(-995, 2), "tail"}));
  EXPECT_FALSE(layout.are_in_place(std::vector<ColumnChange>{{1, 5}, {3, "x"}}));
}

TEST(RowLayout, NothingChangesIfAValueDoesNotFit) {
  const RowLayout layout(mixed());
  std::string row = encoded(layout, {1, 2, "abc", {}, Decimal::of(7), "tail"});
  const std::string before = row;
  const std::vector<ColumnChange> changes{{1, 3}, {2, "too long"}};
  EXPECT_EQ(test::error_of([&] { return change_in_place(layout, row, changes), 0; }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(row, before);
}

TEST(RowLayout, AnyRowComesBack) {
  Random random(test::seed());
  for (test::Rounds rounds(100); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const RowLayout layout(table);
    for (int repeat = 0; repeat < 10; ++repeat) {
      const test::RandomRow row = test::random_row(random, table);
      const std::string bytes = encoded(layout, row.values);
      ASSERT_EQ(layout.validate(bytes), std::nullopt);
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        if (layout.place(column).kind != PlaceKind::key) {
          const auto& type = table.columns[column].type;
          ASSERT_TRUE(test::order_of(type, layout.value(bytes, column), row.values[column]) == 0)
              << text_of(type) << ": " << row.values[column];
        }
      }
    }
  }
}

TEST(RowLayout, AnyChangeIsTheRowOfTheNewValues) {
  Random random(test::seed());
  for (test::Rounds rounds(500); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const RowLayout layout(table);
    const test::RandomRow before = test::random_row(random, table);
    const test::RandomRow after = test::random_row(random, table);
    std::vector<ColumnChange> changes;
    std::vector<Value> expected = before.values;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (layout.place(column).kind != PlaceKind::key && random.one_in(2)) {
        changes.push_back({column, after.values[column]});
        expected[column] = after.values[column];
      }
    }
    std::string row = encoded(layout, before.values);
    std::string changed = "something";
    layout.change(row, changes, changed);
    ASSERT_EQ(changed, encoded(layout, expected));
    if (layout.are_in_place(changes)) {
      change_in_place(layout, row, changes);
      ASSERT_EQ(row, changed);
    }
  }
}

TEST(RowLayout, HostileRowsAreRefusedWithAReason) {
  const RowLayout layout(mixed());
  const std::string good = encoded(layout, {1, 2, "abc", "def", Decimal::of(7), "tail"});
  ASSERT_EQ(good.size(), 16U + 7U);
  struct Case {
    std::size_t at;
    char byte;
    std::string reason;
  };
  const std::vector<Case> cases{
      {0, '\x01', "column \"a\": it is null, but its bytes are not zero"},
      {0, '\x02', "column \"c\": 3 bytes, of at most 0"},
      {0, '\x04', "null bits of columns that do not exist are set"},
      {8, '\x7F', "column \"d\": a number of more than 5 digits"},
      {13, '\x80', "column \"d\": a number of more than 5 digits"},
      {14, '\x08', "column \"c\": it ends at 8 and begins at 0 of 7 bytes"},
      {15, '\x01', "column \"c\": it ends at 259"},
  };
  for (const Case& wrong : cases) {
    std::string row = good;
    row[wrong.at] = wrong.byte;
    EXPECT_THAT(layout.validate(row).value_or("valid"), ::testing::HasSubstr(wrong.reason));
  }
  EXPECT_EQ(layout.validate(good.substr(0, 15)),
            "a row of 15 bytes is too short: the shortest has 16");
  EXPECT_EQ(layout.validate(good + "1234567"), "column \"e\": 11 bytes, of at most 10");
  const RowLayout fixed(
      {.name = "t", .columns = {{"id", int8()}, {"a", boolean()}}, .key = {"id"}});
  EXPECT_EQ(fixed.validate("\2"), "column \"a\": a boolean that is neither false nor true");
  EXPECT_EQ(fixed.validate("\1\1"), "1 bytes after the last column");
}

TEST(RowLayout, EndsThatGoBackwardsAreRefused) {
  const RowLayout layout(
      {.name = "t",
       .columns = {{"id", int8()}, {"a", bytes(9)}, {"b", bytes(9)}, {"c", bytes(9)}},
       .key = {"id"}});
  EXPECT_EQ(layout.validate("\2\0\1\0abc"s),
            "column \"b\": it ends at 1 and begins at 2 of 3 bytes");
}

TEST(RowLayout, ADecimalBeyondItsDigitsIsCorruption) {
  const RowLayout layout(
      {.name = "t", .columns = {{"id", int8()}, {"a", decimal(38)}}, .key = {"id"}});
  const std::string row(16, '\x7F');
  EXPECT_EQ(test::error_of([&] { return layout.value(row, 1); }, "more than 38 digits"),
            ErrorCode::corruption);
}

TEST(RowLayout, DamagedRowsAreReadWithinTheirBytes) {
  Random random(test::seed());
  std::size_t valid = 0;
  for (test::Rounds rounds(2000); rounds.next();) {
    const TableSchema table = test::random_schema(random);
    const RowLayout layout(table);
    std::string row = encoded(layout, test::random_row(random, table).values);
    for (std::uint64_t edits = random.between(1, 3); edits > 0 && !row.empty(); --edits) {
      row[random.below(row.size())] = static_cast<char>(random());
    }
    row.resize(random.one_in(3) ? random.below(row.size() + 1) : row.size());
    row.shrink_to_fit();
    valid += layout.validate(row) ? 0U : 1U;
    for (std::size_t column = 0; column < table.columns.size() && layout.fits(row); ++column) {
      if (layout.place(column).kind == PlaceKind::variable) {
        const ByteView bytes = layout.variable(row, layout.place(column));
        ASSERT_TRUE(bytes.data() >= row.data() &&
                    bytes.data() + bytes.size() <= row.data() + row.size());
      }
    }
  }
  EXPECT_GT(valid, 0U);
}

}  // namespace
}  // namespace palimpsest::engine
