// Rows changed in place, compared with encodings of the same values; what is refused.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "palimpsest/row.h"

#include "base/random.h"
#include "tests/engine/api/stored_row.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::StoredRow;

/// As Table::column() finds it in a table without indexes.
detail::FixedPlace place_of(const engine::TableFormat& format, std::size_t column) {
  const engine::ColumnPlace& place = format.rows().place(column);
  return {.offset = place.offset, .null_bit = place.null_bit, .may_change = true};
}

template <FixedType Type>
bool change(RowEditor& row, const detail::FixedPlace& place, const Value& value, Type typed) {
  const Column<Type> column(place);
  if (value.is_null()) {
    row.set_null(column);
  } else {
    row.set(column, typed);
    EXPECT_EQ(Value(row.get(column)), value);
  }
  return true;
}

std::int64_t integer(const Value& value) {
  return value.is_null() ? 0 : value.as_integer();
}
double floating(const Value& value) {
  return value.is_null() ? 0 : value.as_floating();
}

/// Sets a column by a handle of its type; false if it has none.
bool change(RowEditor& row, const engine::TableFormat& format, std::size_t column,
            const Value& value) {
  if (format.key_position(column)) {
    return false;
  }
  const detail::FixedPlace place = place_of(format, column);
  switch (format.schema().columns[column].type.type) {
    case ColumnType::boolean:
      return change(row, place, value, !value.is_null() && value.as_boolean());
    case ColumnType::int8:
      return change(row, place, value, static_cast<std::int8_t>(integer(value)));
    case ColumnType::int16:
      return change(row, place, value, static_cast<std::int16_t>(integer(value)));
    case ColumnType::int32:
      return change(row, place, value, static_cast<std::int32_t>(integer(value)));
    case ColumnType::int64: return change(row, place, value, integer(value));
    case ColumnType::float32: return change(row, place, value, static_cast<float>(floating(value)));
    case ColumnType::float64: return change(row, place, value, floating(value));
    case ColumnType::date:
      return change(row, place, value, value.is_null() ? Date() : value.as_date());
    case ColumnType::timestamp:
      return change(row, place, value, value.is_null() ? Timestamp() : value.as_timestamp());
    case ColumnType::decimal:
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return false;
}

TEST(RowEditor, AnyColumnIsSetAsTheLayoutSetsIt) {
  Random random(test::seed());
  std::size_t changed = 0;
  for (test::Rounds rounds(500); rounds.next() && !::testing::Test::HasFailure();) {
    const auto format = test::format_of(test::random_schema(random));
    const test::RandomRow before = test::random_row(random, format->schema());
    const test::RandomRow after = test::random_row(random, format->schema());
    std::string row = StoredRow(format, before.values).bytes();
    const std::string as_it_was = row;
    std::string memory(row.size(), '\0');
    ValueEditor value(row, memory.data());
    RowEditor editor(value);
    std::vector<Value> expected = before.values;
    for (std::size_t column = 0; column < expected.size(); ++column) {
      if (change(editor, *format, column, after.values[column])) {
        expected[column] = after.values[column];
        ++changed;
      }
    }
    EXPECT_FALSE(editor.was_refused());
    ASSERT_EQ(row, StoredRow(format, expected).bytes());
    ASSERT_EQ(value.whole_before(), as_it_was);
    value.restore();
    ASSERT_EQ(row, as_it_was);
  }
  EXPECT_GT(changed, 0U);
}

TEST(RowEditor, WhatMustNotChangeIsRefusedAndStays) {
  const auto format =
      test::format_of({.name = "t",
                       .columns = {{"id", int32()}, {"a", int32()}, {"b", nullable(date())}},
                       .key = {"id"}});
  const std::string before = StoredRow(format, std::vector<Value>{1, 2, Date(3)}).bytes();
  std::string row = before;
  const auto refused = [&](auto&& edit) {
    ValueEditor value(row, nullptr);
    RowEditor editor(value);
    edit(editor);
    return editor.was_refused() && row == before;
  };
  const Column<std::int32_t> a(place_of(*format, 1));
  EXPECT_TRUE(refused([&](RowEditor& editor) { editor.set_null(a); })) << "it is never null";
  detail::FixedPlace indexed = place_of(*format, 2);
  indexed.may_change = false;
  const Column<Date> b(indexed);
  EXPECT_TRUE(refused([&](RowEditor& editor) { editor.set(b, Date(4)); }));
  EXPECT_TRUE(refused([&](RowEditor& editor) { editor.set_null(b); }));
  EXPECT_FALSE(refused([&](RowEditor& editor) { editor.set(a, 2); })) << "only these are";
}

}  // namespace
}  // namespace palimpsest
