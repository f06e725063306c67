// Rows: columns read by name, number and handle, compared with their original values; copies of
// rows; what is refused.
#include "palimpsest/row.h"

#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/format/column_value.h"
#include "tests/engine/api/stored_row.h"
#include "tests/engine/format/random_table.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

using namespace palimpsest::types;
using test::StoredRow;

TableSchema account_table() {
  return {.name = "account",
          .columns = {{"id", int64()},
                      {"owner", varchar(40)},
                      {"balance", decimal(12, 2)},
                      {"visits", int32()},
                      {"closed", nullable(date())}},
          .key = {"owner", "id"}};
}

const std::vector<Value>& some_values() {
  static const std::vector<Value> values{7, "Ada", Decimal::of(1250, 2), 3, {}};
  return values;
}

/// The value as it is stored: a text of type `char` without padding.
Value stored(const DataType& type, const Value& value) {
  return type.type == ColumnType::character && !value.is_null()
             ? Value(engine::without_padding(value.as_bytes()))
             : value;
}

/// As Table::column() finds it.
template <FixedType Type>
Value by_handle(const RowView& row, const detail::FixedPlace& place) {
  const Column<Type> column(place);
  const auto nullable = row.get_nullable(column);
  EXPECT_EQ(nullable.has_value(), !row.is_null(column));
  EXPECT_TRUE(!nullable || Value(*nullable) == Value(row.get(column)));
  return nullable ? Value(*nullable) : Value();
}

/// The value of a column by a handle of its C++ type; nothing if it has none.
std::optional<Value> by_handle(const RowView& row, const engine::TableFormat& format,
                               std::size_t column) {
  if (format.key_position(column)) {
    return std::nullopt;
  }
  const detail::FixedPlace place = format.fixed_place(column);
  switch (format.schema().columns[column].type.type) {
    case ColumnType::boolean: return by_handle<bool>(row, place);
    case ColumnType::int8: return by_handle<std::int8_t>(row, place);
    case ColumnType::int16: return by_handle<std::int16_t>(row, place);
    case ColumnType::int32: return by_handle<std::int32_t>(row, place);
    case ColumnType::int64: return by_handle<std::int64_t>(row, place);
    case ColumnType::float32: return by_handle<float>(row, place);
    case ColumnType::float64: return by_handle<double>(row, place);
    case ColumnType::date: return by_handle<Date>(row, place);
    case ColumnType::timestamp: return by_handle<Timestamp>(row, place);
    case ColumnType::decimal:
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return std::nullopt;
}

/// Whether all columns equal the values, by every way of reading them.
void expect_values(const RowView& row, const engine::TableFormat& format,
                   const std::vector<Value>& values) {
  ASSERT_EQ(row.column_count(), values.size());
  for (std::size_t column = 0; column < values.size(); ++column) {
    const ColumnDefinition& definition = format.schema().columns[column];
    const Value expected = stored(definition.type, values[column]);
    EXPECT_EQ(row[column], expected) << definition.name;
    EXPECT_EQ(row[definition.name], expected) << definition.name;
    if (const auto value = by_handle(row, format, column)) {
      EXPECT_EQ(*value, expected) << definition.name;
    }
  }
}

TEST(RowView, ShowsWhatTheRowWasMadeOf) {
  Random random(test::seed());
  for (test::Rounds rounds(500); rounds.next() && !::testing::Test::HasFailure();) {
    const auto format = test::format_of(test::random_schema(random));
    const test::RandomRow row = test::random_row(random, format->schema());
    StoredRow stored_row(format, row.values);
    expect_values(stored_row.view(), *format, row.values);
    const Row copy(stored_row.view());
    expect_values(copy, *format, row.values);
  }
}

TEST(RowView, OneMemoryOfKeyPartsServesRowAfterRow) {
  const auto format = test::format_of(account_table());
  detail::KeyParts parts;
  for (const char* owner : {"Ada", "Bob", "A very long name of nobody"}) {
    const StoredRow row(format, std::vector<Value>{7, owner, Decimal(), 0, {}});
    parts.forget();
    const RowView view(row.key(), row.bytes(), *format, parts);
    EXPECT_EQ(view["owner"].as_bytes(), owner);
  }
}

TEST(RowView, TextIsForPeople) {
  StoredRow row(test::format_of(account_table()), some_values());
  EXPECT_EQ(row.view().text(), "(7, \"Ada\", 12.50, 3, null)");
}

TEST(RowView, ColumnsThatAreNotThereAreRefused) {
  StoredRow row(test::format_of(account_table()), some_values());
  EXPECT_EQ(test::error_of([&] { return row.view()["ownr"]; },
                           "table \"account\" has no column \"ownr\""),
            ErrorCode::invalid_argument);
  EXPECT_EQ(test::error_of([&] { return row.view()[5]; },
                           "table \"account\" has no column 5: it has 5, counted from 0"),
            ErrorCode::invalid_argument);
}

TEST(RowView, DamageIsSaid) {
  const auto format = test::format_of(account_table());
  const StoredRow whole(format, some_values());
  StoredRow short_row(format, whole.key(), whole.bytes().substr(1));
  EXPECT_EQ(short_row.view()["owner"].as_bytes(), "Ada") << "the key is whole";
  EXPECT_EQ(test::error_of([&] { return short_row.view()["visits"]; }, "the shortest has"),
            ErrorCode::corruption);
  StoredRow no_key(format, whole.key().substr(0, 3), whole.bytes());
  EXPECT_EQ(no_key.view()["visits"].as_integer(), 3) << "the row is whole";
  EXPECT_EQ(
      test::error_of([&] { return no_key.view()["owner"]; }, "table \"account\": a key is damaged"),
      ErrorCode::corruption);
  EXPECT_EQ(test::error_of([&] { return Row(no_key.view()); }, "a key is damaged"),
            ErrorCode::corruption)
      << "at once, since the row may never be decoded later";
}

TEST(Row, OutlivesItsViewAndTheTableFormat) {
  auto format = test::format_of(account_table());
  auto stored_row = std::make_unique<StoredRow>(format, some_values());
  const Row row(stored_row->view());
  const Row copy = row;  // NOLINT(performance-unnecessary-copy-initialization)
  std::weak_ptr<const engine::TableFormat> kept = format;
  stored_row.reset();
  format.reset();
  ASSERT_FALSE(kept.expired()) << "the row keeps it";
  expect_values(copy, *kept.lock(), some_values());
  EXPECT_EQ(copy.view().bytes().data(), row.view().bytes().data()) << "copies share the bytes";
  EXPECT_EQ(row.text(), "(7, \"Ada\", 12.50, 3, null)");
}

TEST(Row, ManyThreadsReadTheSameOne) {
  const auto format = test::format_of(account_table());
  const Row row(StoredRow(format, some_values()).view());
  std::atomic<int> wrong{0};
  test::run_threads(8, [&](std::size_t) {
    for (int round = 0; round < 200; ++round) {
      wrong += row["owner"].as_bytes() != "Ada" || row["id"].as_integer() != 7 ||
               row["visits"].as_integer() != 3 || row.text() != "(7, \"Ada\", 12.50, 3, null)";
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace palimpsest
