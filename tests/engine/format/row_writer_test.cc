// Rows written column by column equal those made of Values.
#include "palimpsest/row_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/format/key_codec.h"
#include "engine/format/row_layout.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace palimpsest::engine {
namespace {

using namespace palimpsest::types;
using palimpsest::test::error_of;

/// The key and the bytes, as tables store them.
std::string encoded(const TableSchema& table, const std::vector<Value>& values) {
  KeyMemory memory;
  std::string row;
  RowLayout(table).encode(values, row);
  return std::string(KeyCodec(table).encode_row(values, memory)) + row;
}

/// By the function for the column's type, if it has one.
bool set_by_type(RowWriter& row, std::size_t column, const DataType& type, const Value& value) {
  if (value.is_null()) {
    return false;
  }
  switch (type.type) {
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64: return row.set_integer(column, value.as_integer());
    case ColumnType::date: return row.set_date(column, value.as_date());
    case ColumnType::varchar:
    case ColumnType::bytes: return row.set_text(column, value.as_bytes());
    case ColumnType::decimal: {
      const auto scaled = value.as_decimal().with_scale(type.scale);
      return type.precision <= 18 && scaled &&
             row.set_decimal(column, static_cast<std::int64_t>(scaled->unscaled()));
    }
    case ColumnType::character: {
      const std::span<char> into = row.padded(column);
      std::string text(value.as_bytes());
      text.resize(into.size(), ' ');
      text.copy(into.data(), into.size());
      return true;
    }
    default: return false;
  }
}

bool has_writer(const TableSchema& table) {
  return std::ranges::all_of(table.key, [&](const std::string& name) {
    const DataType& type = table.columns[*table.find_column(name)].type;
    switch (type.type) {
      case ColumnType::boolean:
      case ColumnType::float32:
      case ColumnType::float64:
      case ColumnType::varchar:
      case ColumnType::bytes: return false;
      case ColumnType::decimal: return !type.nullable && type.precision <= 18;
      default: return !type.nullable;
    }
  });
}

TEST(RowWriter, WritesWhatIsMadeOfValues) {
  Random random(palimpsest::test::seed());
  int tables = 0;
  for (int round = 0; round < 3'000; ++round) {
    const TableSchema table = palimpsest::test::random_schema(random);
    auto row = RowWriter::of(table);
    ASSERT_EQ(row.has_value(), has_writer(table));
    if (!row) {
      continue;
    }
    ++tables;
    std::string expected;
    std::string written;
    for (int rows = 0; rows < 10; ++rows) {
      const auto values = palimpsest::test::random_row(random, table);
      const std::string one = encoded(table, values.values);
      row->begin(written);
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        if (random.below(3) == 0 ||
            !set_by_type(*row, column, table.columns[column].type, values.values[column])) {
          row->set(column, values.values[column]);
        }
      }
      if (random.below(4) == 0) {
        row->drop();
      } else {
        EXPECT_EQ(row->end(), one.size() - row->key_bytes());
        expected += one;
      }
      ASSERT_EQ(written, expected);
    }
  }
  EXPECT_GT(tables, 300);
}

TEST(RowWriter, TakesOnlyWhatFits) {
  const TableSchema table{.name = "t",
                          .columns = {{"a", int16()},
                                      {"b", nullable(int8())},
                                      {"c", decimal(4, 2)},
                                      {"d", varchar(3)},
                                      {"e", date()},
                                      {"f", character(2)}},
                          .key = {"a"}};
  auto row = RowWriter::of(table);
  ASSERT_TRUE(row);
  std::string rows;
  row->begin(rows);
  EXPECT_TRUE(row->set_integer(0, 32'767) && row->set_integer(0, -32'768));
  EXPECT_FALSE(row->set_integer(0, 32'768) || row->set_integer(0, -32'769));
  EXPECT_FALSE(row->set_integer(1, std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(row->set_decimal(2, 9'999) && row->set_decimal(2, -9'999));
  EXPECT_FALSE(row->set_decimal(2, 10'000) || row->set_decimal(2, -10'000));
  EXPECT_TRUE(row->set_text(3, "abc"));
  EXPECT_FALSE(row->set_text(3, "abcd") || row->set_text(5, "a"));
  EXPECT_FALSE(row->set_integer(2, 0) || row->set_integer(4, 0) || row->set_integer(5, 0));
  EXPECT_FALSE(row->set_decimal(0, 0) || row->set_date(0, Date()));
  EXPECT_EQ(row->padded(5).size(), 2U);
  EXPECT_TRUE(row->padded(3).empty());
  const auto set = [&](std::size_t column, const Value& value) {
    row->set(column, value);
    return true;
  };
  EXPECT_EQ(error_of([&] { return set(0, {}); }, "column \"a\" of type int16: it is never null"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { return set(3, "abcd"); }, "4 bytes are too long"),
            ErrorCode::invalid_argument);
  row->drop();
  EXPECT_EQ(rows, "");
}

TEST(RowWriter, RowsMayBeTooLong) {
  const TableSchema table{
      .name = "t",
      .columns = {{"a", int16()}, {"b", varchar(kVarcharBytesMax)}, {"c", bytes()}},
      .key = {"a"}};
  auto row = RowWriter::of(table);
  ASSERT_TRUE(row);
  const std::string_view half("", kVarcharBytesMax / 2);  // no code reads the bytes
  std::string rows = "before";
  row->begin(rows);
  ASSERT_TRUE(row->set_integer(0, 1) && row->set_text(1, half) && row->set_text(2, half));
  EXPECT_EQ(error_of([&] { return row->end(); }, "is too long: the longest has 1073741824"),
            ErrorCode::invalid_argument);
  EXPECT_EQ(rows, "before");
}

}  // namespace
}  // namespace palimpsest::engine
