// Handles of columns: beside what the layout says, by the same rows; what is refused.
#include "engine/tables/typed_columns.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/tables/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using palimpsest::test::bytes_of;
using namespace std::string_literals;

TableSchema mixed() {
  return {.name = "mixed",
          .columns = {{"id", int32()},
                      {"a", nullable(int16())},
                      {"b", nullable(character(3))},
                      {"c", nullable(varchar(10))},
                      {"d", nullable(decimal(5, 2))},
                      {"e", bytes(10)},
                      {"f", boolean()},
                      {"g", nullable(decimal(20, 1))},
                      {"h", nullable(date())},
                      {"i", int8()}},
          .key = {"id"}};
}

std::string row_of(const RowLayout& layout, const std::vector<Value>& values) {
  std::string row;
  layout.encode(values, row);
  return row;
}

const std::vector<Value>& some_values() {
  static const std::vector<Value> values{
      1, -2, "x", "abc", Decimal::of(-1, 2), "de", true, Decimal::of(77, 1), Date(5), 9};
  return values;
}

TEST(TypedColumns, ReadWhatTheLayoutReads) {
  const RowLayout layout(mixed());
  const std::string row = row_of(layout, some_values());
  EXPECT_EQ(FixedColumn<std::int16_t>(layout, "a").get(row), -2);
  EXPECT_EQ(CharacterColumn(layout, "b").get(row), "x");
  EXPECT_EQ(VariableColumn(layout, "c").get(row), "abc");
  EXPECT_EQ(DecimalColumn(layout, "d").get(row), Decimal::of(-1, 2));
  EXPECT_TRUE(DecimalColumn(layout, "d").unscaled(row) == -1);
  EXPECT_EQ(DecimalColumn(layout, "d").scale(), 2U);
  EXPECT_EQ(VariableColumn(layout, "e").get(row), "de");
  EXPECT_TRUE(FixedColumn<bool>(layout, "f").get(row));
  EXPECT_EQ(DecimalColumn(layout, "g").get(row), Decimal::of(77, 1));
  EXPECT_EQ(FixedColumn<Date>(layout, "h").get_nullable(row), Date(5));
  EXPECT_FALSE(FixedColumn<std::int8_t>(layout, "i").is_nullable());
}

TEST(TypedColumns, NullsAreReadAsSuch) {
  const RowLayout layout(mixed());
  const std::string row = row_of(layout, {1, {}, {}, {}, {}, "de", true, {}, {}, 9});
  const FixedColumn<std::int16_t> a(layout, "a");
  EXPECT_TRUE(a.is_null(row));
  EXPECT_EQ(a.get(row), 0);
  EXPECT_EQ(a.get_nullable(row), std::nullopt);
  EXPECT_EQ(CharacterColumn(layout, "b").get(row), "");
  EXPECT_EQ(VariableColumn(layout, "c").get(row), "");
  EXPECT_TRUE(DecimalColumn(layout, "d").is_null(row));
  EXPECT_FALSE(VariableColumn(layout, "e").is_null(row));
}

TEST(TypedColumns, WhatIsSetIsTheRowOfTheNewValues) {
  const RowLayout layout(mixed());
  std::string row = row_of(layout, {1, {}, {}, {}, {}, "de", false, {}, Date(1), 9});
  FixedColumn<std::int16_t>(layout, "a").set(bytes_of(row), -2);
  EXPECT_TRUE(CharacterColumn(layout, "b").set(bytes_of(row), "xy "));
  EXPECT_TRUE(DecimalColumn(layout, "d").set(bytes_of(row), Decimal::of(-9995, 1)));
  FixedColumn<bool>(layout, "f").set(bytes_of(row), true);
  EXPECT_TRUE(DecimalColumn(layout, "g").set_unscaled(bytes_of(row), Int128{1} << 65U));
  FixedColumn<Date>(layout, "h").set_null(bytes_of(row));
  EXPECT_EQ(row, row_of(layout, {1,
                                 -2,
                                 "xy",
                                 {},
                                 Decimal::of(-99'950, 2),
                                 "de",
                                 true,
                                 Decimal::of(Int128{1} << 65U, 1),
                                 {},
                                 9}));
  EXPECT_EQ(layout.validate(row), std::nullopt);
  CharacterColumn(layout, "b").set_null(bytes_of(row));
  DecimalColumn(layout, "g").set_null(bytes_of(row));
  EXPECT_EQ(row, row_of(layout, {1, -2, {}, {}, Decimal::of(-99'950, 2), "de", true, {}, {}, 9}));
}

TEST(TypedColumns, WhatDoesNotFitChangesNothing) {
  const RowLayout layout(mixed());
  std::string row = row_of(layout, {1, 1, {}, {}, {}, "", false, {}, {}, 9});
  const std::string before = row;
  EXPECT_FALSE(CharacterColumn(layout, "b").set(bytes_of(row), "1234"));
  const DecimalColumn d(layout, "d");
  EXPECT_FALSE(d.set_unscaled(bytes_of(row), 100'000));
  EXPECT_FALSE(d.set_unscaled(bytes_of(row), -100'000));
  EXPECT_FALSE(d.set(bytes_of(row), Decimal::of(1, 3)));
  EXPECT_FALSE(d.set(bytes_of(row), Decimal::of(1000)));
  EXPECT_EQ(row, before);
  EXPECT_TRUE(d.set_unscaled(bytes_of(row), -99'999));
  EXPECT_EQ(d.get(row).text(), "-999.99");
}

TEST(TypedColumns, ADecimalBeyondItsDigitsIsCorruption) {
  const RowLayout layout(
      {.name = "t", .columns = {{"id", int8()}, {"a", decimal(38)}}, .key = {"id"}});
  const std::string row(16, '\x7F');
  const DecimalColumn a(layout, "a");
  EXPECT_TRUE(a.unscaled(row) > 0);
  EXPECT_EQ(test::error_of([&] { return a.get(row); }, "more digits"), ErrorCode::corruption);
  const RowLayout two({.name = "t", .columns = {{"id", int8()}, {"a", decimal(2)}}, .key = {"id"}});
  const DecimalColumn b(two, "a");
  for (const std::string& beyond : {"\x64\0\0\0\0\0\0\0"s, "\x9C\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s}) {
    EXPECT_EQ(test::error_of([&] { return b.get(beyond); }, "more digits"), ErrorCode::corruption);
  }
  EXPECT_EQ(b.get("\x9D\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s), Decimal::of(-99));
}

TEST(TypedColumns, OtherColumnsAreRefused) {
  const RowLayout layout(mixed());
  const auto refused = [](auto make, std::string_view reason) {
    return test::error_of([&] { return make(), 0; }, reason) == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([&] { return FixedColumn<std::int32_t>(layout, "a"); },
                      "table \"mixed\", column \"a\" of type nullable(int16): it is asked for as "
                      "int32"));
  EXPECT_TRUE(refused([&] { return FixedColumn<std::int32_t>(layout, "x"); },
                      "table \"mixed\", column \"x\": there is none of that name"));
  EXPECT_TRUE(refused([&] { return FixedColumn<std::int32_t>(layout, "id"); },
                      "column \"id\": it is in the primary key, not in the row"));
  EXPECT_TRUE(refused([&] { return DecimalColumn(layout, "a"); }, "asked for as decimal"));
  EXPECT_TRUE(refused([&] { return DecimalColumn(layout, "x"); }, "none of that name"));
  EXPECT_TRUE(refused([&] { return CharacterColumn(layout, "c"); }, "asked for as character"));
  EXPECT_TRUE(refused([&] { return VariableColumn(layout, "b"); }, "asked for as varchar"));
}

TEST(TypedColumnsDeathTest, AColumnThatIsNeverNullDoesNotBecomeNull) {
  const RowLayout layout(mixed());
  std::string row = row_of(layout, some_values());
  const FixedColumn<std::int8_t> i(layout, "i");
  EXPECT_DEATH(i.set_null(bytes_of(row)), "only a nullable column becomes null");
}

/// Sets a column to what is not null, by the handle of its type, and reads it again.
class Setter {
 public:
  Setter(const TableSchema& table, const RowLayout& layout) : table_(table), layout_(layout) {}

  /// Whether there was such a handle; what is read again is right.
  bool set(std::string& row, std::size_t column, const Value& value) const {
    switch (table_.columns[column].type.type) {
      case ColumnType::boolean: return fixed(row, column, value.as_boolean());
      case ColumnType::int8:
        return fixed(row, column, static_cast<std::int8_t>(value.as_integer()));
      case ColumnType::int16:
        return fixed(row, column, static_cast<std::int16_t>(value.as_integer()));
      case ColumnType::int32:
        return fixed(row, column, static_cast<std::int32_t>(value.as_integer()));
      case ColumnType::int64: return fixed(row, column, value.as_integer());
      case ColumnType::float32: return fixed(row, column, static_cast<float>(value.as_floating()));
      case ColumnType::float64: return fixed(row, column, value.as_floating());
      case ColumnType::date: return fixed(row, column, value.as_date());
      case ColumnType::timestamp: return fixed(row, column, value.as_timestamp());
      case ColumnType::decimal: {
        const DecimalColumn handle(layout_, table_.columns[column].name);
        EXPECT_TRUE(handle.set(bytes_of(row), value.as_decimal()));
        EXPECT_EQ(handle.get(row), value.as_decimal());
        return true;
      }
      case ColumnType::character: {
        const CharacterColumn handle(layout_, table_.columns[column].name);
        EXPECT_TRUE(handle.set(bytes_of(row), value.as_bytes()));
        return true;
      }
      case ColumnType::varchar:
      case ColumnType::bytes: break;
    }
    return false;
  }

 private:
  template <class Type>
  bool fixed(std::string& row, std::size_t column, Type value) const {
    const FixedColumn<Type> handle(layout_, table_.columns[column].name);
    handle.set(bytes_of(row), value);
    EXPECT_EQ(Value(handle.get(row)), Value(value));
    return true;
  }

  const TableSchema& table_;
  const RowLayout& layout_;
};

TEST(TypedColumns, AnyColumnIsSetAsTheLayoutSetsIt) {
  Random random(test::seed());
  std::size_t set = 0;
  for (test::Rounds rounds(500); rounds.next() && !::testing::Test::HasFailure();) {
    const TableSchema table = test::random_schema(random);
    const RowLayout layout(table);
    const test::RandomRow before = test::random_row(random, table);
    const test::RandomRow after = test::random_row(random, table);
    std::string row = row_of(layout, before.values);
    std::vector<Value> expected = before.values;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Value& value = after.values[column];
      if (layout.place(column).kind != PlaceKind::key && !value.is_null() &&
          Setter(table, layout).set(row, column, value)) {
        expected[column] = value;
        ++set;
      }
    }
    ASSERT_EQ(row, row_of(layout, expected));
  }
  EXPECT_GT(set, 0U);
}

}  // namespace
}  // namespace palimpsest::engine
