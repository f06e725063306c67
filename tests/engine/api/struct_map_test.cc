// Conversion between structs and rows, compared with the values of the same rows, with columns in
// any order and in the key or not; what is refused.
#include "palimpsest/struct_map.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/table_of.h"

#include "base/random.h"
#include "engine/format/column_value.h"
#include "tests/engine/api/stored_row.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using detail::StructMap;
using test::error_of;
using test::StoredRow;

static_assert(detail::MemberType<std::array<char, 3>>::kIsCopied);
static_assert(!detail::MemberType<bool>::kIsCopied, "any byte but 0 and 1 would be no bool");

enum class Colour : std::int16_t { red = 1, green = -2 };
enum class Level : std::uint8_t { low = 0, high = 127, beyond = 128 };

/// A member of each type, and one that may be null.
struct Everything {
  bool flag;
  std::int8_t tiny;
  std::int16_t small;
  std::int32_t number;
  std::int64_t large;
  float single;
  double floating;
  Date date;
  Timestamp time;
  Colour colour;
  std::array<char, 5> code;
  Decimal price;
  Decimal wide;
  std::string name;
  std::string text;
  std::string raw;
  std::optional<bool> maybe_flag;
  std::optional<std::int32_t> maybe_number;
  std::optional<float> maybe_single;
  std::optional<Date> maybe_date;
  std::optional<Decimal> maybe_price;
  std::optional<std::string> maybe_text;
  std::optional<std::array<char, 3>> maybe_code;
  std::optional<Colour> maybe_colour;
};

std::vector<ColumnDefinition> columns_of_everything() {
  return {{"flag", boolean()},
          {"tiny", int8()},
          {"small", int16()},
          {"number", int32()},
          {"large", int64()},
          {"single", float32()},
          {"floating", float64()},
          {"date", date()},
          {"time", timestamp()},
          {"colour", int16()},
          {"code", character(5)},
          {"price", decimal(12, 2)},
          {"wide", decimal(38, 10)},
          {"name", character(8)},
          {"text", varchar(30)},
          {"raw", bytes(30)},
          {"maybe_flag", nullable(boolean())},
          {"maybe_number", nullable(int32())},
          {"maybe_single", nullable(float32())},
          {"maybe_date", nullable(date())},
          {"maybe_price", nullable(decimal(5, 1))},
          {"maybe_text", nullable(varchar(30))},
          {"maybe_code", nullable(character(3))},
          {"maybe_colour", nullable(int16())}};
}

StructMap<Everything> map_of_everything(std::shared_ptr<const engine::TableFormat> format) {
  return {std::move(format),
          {{"flag", &Everything::flag},
           {"tiny", &Everything::tiny},
           {"small", &Everything::small},
           {"number", &Everything::number},
           {"large", &Everything::large},
           {"single", &Everything::single},
           {"floating", &Everything::floating},
           {"date", &Everything::date},
           {"time", &Everything::time},
           {"colour", &Everything::colour},
           {"code", &Everything::code},
           {"price", &Everything::price},
           {"wide", &Everything::wide},
           {"name", &Everything::name},
           {"text", &Everything::text},
           {"raw", &Everything::raw},
           {"maybe_flag", &Everything::maybe_flag},
           {"maybe_number", &Everything::maybe_number},
           {"maybe_single", &Everything::maybe_single},
           {"maybe_date", &Everything::maybe_date},
           {"maybe_price", &Everything::maybe_price},
           {"maybe_text", &Everything::maybe_text},
           {"maybe_code", &Everything::maybe_code},
           {"maybe_colour", &Everything::maybe_colour}}};
}

template <class Type>
Value value_of(const Type& member) {
  return member;
}
template <std::size_t kLength>
Value value_of(const std::array<char, kLength>& member) {
  return engine::without_padding({member.data(), kLength});
}
Value value_of(Colour member) {
  return static_cast<std::int16_t>(member);
}
template <class Type>
Value value_of(const std::optional<Type>& member) {
  return member ? value_of(*member) : Value();
}

/// In the order of columns_of_everything().
std::vector<Value> values_of(const Everything& of) {
  return {value_of(of.flag),         value_of(of.tiny),       value_of(of.small),
          value_of(of.number),       value_of(of.large),      value_of(of.single),
          value_of(of.floating),     value_of(of.date),       value_of(of.time),
          value_of(of.colour),       value_of(of.code),       value_of(of.price),
          value_of(of.wide),         value_of(of.name),       value_of(of.text),
          value_of(of.raw),          value_of(of.maybe_flag), value_of(of.maybe_number),
          value_of(of.maybe_single), value_of(of.maybe_date), value_of(of.maybe_price),
          value_of(of.maybe_text),   value_of(of.maybe_code), value_of(of.maybe_colour)};
}

/// A table of all of these columns, in any order, with a key of some of them.
TableSchema random_table(Random& random) {
  TableSchema table{.name = "everything", .columns = columns_of_everything()};
  for (std::size_t at = table.columns.size(); at > 1; --at) {
    std::swap(table.columns[at - 1], table.columns[random.below(at)]);
  }
  for (const ColumnDefinition& column : table.columns) {
    if (!column.type.nullable && (table.key.empty() || random.one_in(4))) {
      table.key.push_back(column.name);
    }
  }
  return table;
}

/// Whether the struct's members equal the row's values.
void expect_members(const Everything& found, const TableSchema& table,
                    const std::vector<Value>& values) {
  const auto columns = columns_of_everything();
  const std::vector<Value> members = values_of(found);
  ASSERT_EQ(members.size(), columns.size());
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const Value& value = values[table.find_column(columns[at].name).value()];
    const bool is_padded = columns[at].type.type == ColumnType::character && !value.is_null();
    EXPECT_EQ(members[at], is_padded ? Value(engine::without_padding(value.as_bytes())) : value)
        << columns[at].name;
  }
}

TEST(StructMap, RowsAndStructsAreEachOther) {
  Random random(test::seed());
  for (test::Rounds rounds(300); rounds.next() && !::testing::Test::HasFailure();) {
    const auto format = test::format_of(random_table(random));
    const StructMap<Everything> map = map_of_everything(format);
    const test::RandomRow values = test::random_row(random, format->schema());
    StoredRow row(format, values.values);
    const Everything found = map.of(row.view());
    expect_members(found, format->schema(), values.values);
    const detail::StructBytes bytes = map.encode(found);
    EXPECT_EQ(bytes.key, row.key());
    EXPECT_EQ(bytes.bytes, row.bytes());
  }
}

/// The row of two rows' values: the key of one, the other columns of the other.
std::vector<Value> mixed(const TableSchema& table, const std::vector<Value>& key,
                         const std::vector<Value>& other) {
  std::vector<Value> values = other;
  for (const std::string& name : table.key) {
    const std::size_t column = table.find_column(name).value();
    values[column] = key[column];
  }
  return values;
}

TEST(StructMap, AChangedRowHasItsKeyAndTheStructsColumns) {
  Random random(test::seed());
  for (test::Rounds rounds(300); rounds.next() && !::testing::Test::HasFailure();) {
    const auto format = test::format_of(random_table(random));
    const StructMap<Everything> map = map_of_everything(format);
    const test::RandomRow before = test::random_row(random, format->schema());
    const test::RandomRow after = test::random_row(random, format->schema());
    StoredRow row(format, before.values);
    StoredRow changed(format, mixed(format->schema(), before.values, after.values));
    std::string bytes = "something else";
    map.change(row.view(), map.of(changed.view()), bytes);
    EXPECT_EQ(bytes, changed.bytes());
  }
}

TableSchema stock_table() {
  return {.name = "stock",
          .columns = {{"id", int32()},
                      {"data", nullable(varchar(50))},
                      {"ytd", int64()},
                      {"counted", timestamp()},
                      {"quantity", int32()},
                      {"since", date()},
                      {"district", character(8)},
                      {"on", boolean()},
                      {"weight", float64()},
                      {"price", decimal(5, 2)},
                      {"level", int8()}},
          .key = {"id"}};
}

std::vector<Value> stock_values() {
  return {1,
          "data",
          std::int64_t{1} << 40U,
          Timestamp(7),
          -3,
          Date(11),
          "ab",
          true,
          0.5,
          Decimal::of(5, 2),
          9};
}

/// In the order of the columns, without holes.
struct Stock {
  std::int64_t ytd;
  Timestamp counted;
  std::int32_t quantity;
  Date since;
  std::array<char, 8> district;
};

TEST(StructMap, InTheOrderOfTheColumnsMembersAreOnePiece) {
  const auto format = test::format_of(stock_table());
  const StructMap<Stock> map(format, {{"district", &Stock::district},
                                      {"ytd", &Stock::ytd},
                                      {"counted", &Stock::counted},
                                      {"quantity", &Stock::quantity},
                                      {"since", &Stock::since}});
  EXPECT_EQ(map.pieces(), 1U);
  StoredRow row(format, stock_values());
  const Stock found = map.of(row.view());
  EXPECT_EQ(found.ytd, std::int64_t{1} << 40U);
  EXPECT_EQ(found.counted, Timestamp(7));
  EXPECT_EQ(found.quantity, -3);
  EXPECT_EQ(found.since, Date(11));
  EXPECT_EQ(std::string_view(found.district.data(), 8), "ab      ");
}

TEST(StructMap, NeighboursInTheRowNeedNotBeNeighboursInTheStruct) {
  struct Reversed {
    Date since;
    std::int32_t quantity;
  };
  const auto format = test::format_of(stock_table());
  const StructMap<Reversed> map(format,
                                {{"since", &Reversed::since}, {"quantity", &Reversed::quantity}});
  EXPECT_EQ(map.pieces(), 2U);
  StoredRow row(format, stock_values());
  EXPECT_EQ(map.of(row.view()).quantity, -3);
  EXPECT_EQ(map.of(row.view()).since, Date(11));
}

TEST(StructMap, ColumnsAndMembersWithoutEachOtherStayAsTheyAre) {
  struct Part {
    double weight = 1;
    int unmapped = 5;
    std::int64_t ytd = 1;
    Decimal price;
  };
  const auto format = test::format_of(stock_table());
  const StructMap<Part> map(
      format, {{"ytd", &Part::ytd}, {"weight", &Part::weight}, {"price", &Part::price}});
  StoredRow row(format, stock_values());
  Part part;
  part.unmapped = 6;
  map.read(row.view(), part);
  EXPECT_EQ(part.unmapped, 6);
  EXPECT_EQ(part.weight, 0.5);
  part = {.weight = 2.5, .unmapped = 7, .ytd = 8, .price = Decimal::of(3)};
  std::string bytes;
  map.change(row.view(), part, bytes);
  std::vector<Value> expected = stock_values();
  expected[2] = 8;
  expected[8] = 2.5;
  expected[9] = Decimal::of(3);
  EXPECT_EQ(bytes, StoredRow(format, expected).bytes());
  EXPECT_EQ(error_of([&] { return map.encode(part); },
                     "table \"stock\", column \"id\": the struct has no member for it"),
            ErrorCode::invalid_argument);
}

TEST(StructMap, MembersOfABaseAreMembers) {
  struct Base {
    std::int32_t quantity = 0;
  };
  struct Derived : Base {
    std::int64_t ytd = 0;
  };
  const auto format = test::format_of(stock_table());
  const StructMap<Derived> map(format, {{"quantity", &Derived::quantity}, {"ytd", &Derived::ytd}});
  StoredRow row(format, stock_values());
  EXPECT_EQ(map.of(row.view()).quantity, -3);
  EXPECT_EQ(map.of(row.view()).ytd, std::int64_t{1} << 40U);
}

TEST(StructMap, WhatCannotBeAMemberIsRefused) {
  struct Wrong {
    std::int32_t number;
    std::int64_t other;
    std::array<char, 7> text;
    std::optional<std::int32_t> maybe;
    std::string name;
    Level level;
  };
  const auto format = test::format_of(stock_table());
  const auto refused = [&](std::initializer_list<detail::MemberOf<Wrong>> members,
                           std::string_view reason) {
    EXPECT_EQ(error_of([&] { return StructMap<Wrong>(format, members); }, reason),
              ErrorCode::invalid_argument)
        << reason;
  };
  refused({{"quantty", &Wrong::number}},
          "table \"stock\", column \"quantty\": there is no such column");
  refused({{"quantity", &Wrong::number}, {"quantity", &Wrong::number}},
          "the struct has two members for it");
  refused({{"quantity", &Wrong::other}},
          "column \"quantity\": its member, of 8 bytes, does not have the type for int32");
  refused({{"since", &Wrong::number}}, "of 4 bytes, does not have the type for date");
  refused({{"district", &Wrong::text}}, "of 7 bytes, does not have the type for character(8)");
  refused({{"price", &Wrong::name}}, "does not have the type for decimal(5, 2)");
  refused({{"quantity", &Wrong::level}}, "of 1 bytes, does not have the type for int32");
  refused({{"quantity", &Wrong::maybe}}, "it is never null, but its member is a std::optional");
  refused({{"data", &Wrong::name}}, "it may be null, but its member is not a std::optional");
}

TEST(StructMap, ValuesThatAColumnCannotHoldAreRefused) {
  struct Row {
    std::int32_t id = 0;
    Decimal price{};
    std::optional<std::string> data{};
    Level level = Level::low;
  };
  const TableSchema table{.name = "t",
                          .columns = {{"id", int32()},
                                      {"price", decimal(5, 2)},
                                      {"data", nullable(varchar(3))},
                                      {"level", int8()}},
                          .key = {"id"}};
  const auto format = test::format_of(table);
  const StructMap<Row> map(
      format,
      {{"id", &Row::id}, {"price", &Row::price}, {"data", &Row::data}, {"level", &Row::level}});
  const auto refused = [&](const Row& row, std::string_view reason) {
    EXPECT_EQ(error_of([&] { return map.encode(row); }, reason), ErrorCode::invalid_argument);
    std::string bytes;
    StoredRow stored(format, std::vector<Value>{row.id, Decimal(), {}, 0});
    EXPECT_EQ(error_of([&] { return map.change(stored.view(), row, bytes), 0; }, reason),
              ErrorCode::invalid_argument);
  };
  refused({.price = Decimal::of(100000, 2)}, "table \"t\", column \"price\"");
  refused({.price = Decimal::of(1, 3)}, "column \"price\"");
  refused({.data = "four"}, "column \"data\"");
  refused({.level = Level::beyond}, "column \"level\"");
  EXPECT_EQ(map.encode({.level = Level::high}).bytes,
            StoredRow(format, std::vector<Value>{0, Decimal(), {}, 127}).bytes());

  StoredRow negative(format, std::vector<Value>{1, Decimal(), {}, -1});
  EXPECT_EQ(error_of([&] { return map.of(negative.view()); },
                     "table \"t\", column \"level\": its member cannot be -1"),
            ErrorCode::invalid_argument);
}

TEST(StructMap, TheKeyIsNotChanged) {
  struct Row {
    std::string name;
    float single = 0;
    std::int32_t number = 0;
  };
  const TableSchema table{
      .name = "t",
      .columns = {{"name", character(4)}, {"single", float32()}, {"number", int32()}},
      .key = {"name", "single"}};
  const auto format = test::format_of(table);
  const StructMap<Row> map(
      format, {{"name", &Row::name}, {"single", &Row::single}, {"number", &Row::number}});
  StoredRow row(format, std::vector<Value>{"Ada", 0.0F, 1});
  std::string bytes;
  map.change(row.view(), {.name = "Ada ", .single = -0.0F, .number = 2}, bytes);
  EXPECT_EQ(bytes, StoredRow(format, std::vector<Value>{"Ada", 0.0F, 2}).bytes());
  EXPECT_EQ(error_of([&] { return map.change(row.view(), {.name = "Bob"}, bytes), 0; },
                     "table \"t\", column \"name\": it is in the key"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return map.change(row.view(), {.name = "Ada", .single = 1}, bytes), 0; },
                     "column \"single\": it is in the key"),
            ErrorCode::invalid_argument);
}

TEST(StructMap, DamagedRowsAreSaid) {
  const auto format = test::format_of(stock_table());
  const StructMap<Stock> map(format, {{"district", &Stock::district}});
  const StoredRow whole(format, stock_values());
  StoredRow cut(format, whole.key(), whole.bytes().substr(0, format->rows().bytes_min() - 1));
  EXPECT_EQ(error_of([&] { return map.of(cut.view()); }, "table \"stock\": a row of"),
            ErrorCode::corruption);
}

}  // namespace
}  // namespace palimpsest
