#include "tests/everything/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/random.h"

namespace palimpsest::everything {
namespace {

using namespace palimpsest::types;

constexpr std::size_t kMarkColumn = 9;
constexpr std::size_t kLongName = 90;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t state = a * 0x9E3779B97F4A7C15U ^ b;
  return splitmix64(state);
}

Value nullable_of(std::int64_t value) {
  return value == kNoValue ? Value() : Value(value);
}

std::int64_t value_of(const Value& value) {
  return value.is_null() ? kNoValue : value.as_integer();
}

Value stored(Id id) {
  return static_cast<std::int64_t>(id);
}

Id stored_id(const Value& value) {
  return static_cast<Id>(value.as_integer());
}

std::string name_of_key(std::int64_t key) {
  std::string name = fmt::format("n{:02}", key % kKeysOfPart);
  if (part_of(key) % 7 == 0) {
    name.append(kLongName, 'k');
  }
  return name;
}

}  // namespace

std::size_t body_bytes(Id body_id) {
  const std::uint64_t chance = mixed(body_id, 1);
  const std::uint64_t length = mixed(body_id, 2);
  return chance % 100 == 0  ? length % 150'000
         : chance % 12 == 0 ? length % 5'000
                            : length % kEditedBodyMax;
}

std::string body_of(Id body_id) {
  std::string body(body_bytes(body_id), static_cast<char>('a' + body_id % 26));
  const std::string name = fmt::format("{:x}", body_id);
  for (std::size_t at = 0; at < body.size(); at += 1000) {
    name.copy(body.data() + at, std::min(name.size(), body.size() - at));
  }
  return body;
}

std::int64_t extra_value(Id full_id, Id column) {
  return static_cast<std::int64_t>(mixed(full_id, column) >> 1U);
}

std::int64_t part_of(std::int64_t key) {
  return key / kKeysOfPart;
}

KeyOf::KeyOf(std::int64_t key) : part_(part_of(key)), name_(name_of_key(key)) {}

TableColumns columns_of(const TableSchema& schema) {
  TableColumns columns;
  for (const ColumnDefinition& column : schema.columns) {
    if (column.name[0] == 'x') {
      columns.extras.push_back(std::strtoull(column.name.c_str() + 1, nullptr, 16));
    } else if (column.name[0] == 's') {
      char* end = nullptr;
      columns.schema = std::strtoull(column.name.c_str() + 1, &end, 16);
      columns.made = std::strtoull(end + 1, nullptr, 16);
    }
  }
  return columns;
}

std::string mark_name(Id schema, Id made) {
  return fmt::format("s{:x}_{:x}", schema, made);
}

std::string extra_name(Id column) {
  return fmt::format("x{:x}", column);
}

ColumnDefinition extra_column(Id column) {
  return {extra_name(column), nullable(int64())};
}

TableSchema first_schema(const std::string& name, Id made) {
  return {.name = name,
          .columns = {{"part", int32()},
                      {"name", varchar(120)},
                      {"id", int64()},
                      {"full", int64()},
                      {"body_id", int64()},
                      {"columns", int64()},
                      {"grp", nullable(int32())},
                      {"number", nullable(int64())},
                      {"body", varchar(1U << 20U)},
                      {mark_name(made, made), nullable(int8())}},
          .key = {"part", "name"}};
}

TableSchema schema_of(std::uint32_t table, const World& world) {
  const TableModel& model = world.tables[table];
  TableSchema schema = first_schema(table_name(table), model.made);
  schema.columns[kMarkColumn].name = mark_name(model.schema, model.made);
  for (const ExtraColumn& extra : world.schemas.at(model.schema)) {
    schema.columns.push_back(extra_column(extra.id));
  }
  return schema;
}

RowValues::RowValues(std::int64_t key, const RowState& row, const TableColumns& columns)
    : key_(key), body_(body_of(row.body_id)) {
  values_ = {key_.part(),
             key_.name(),
             stored(row.id),
             stored(row.full_id),
             stored(row.body_id),
             stored(row.schema),
             nullable_of(row.group),
             nullable_of(row.number),
             body_,
             Value()};
  for (const Id column : columns.extras) {
    values_.emplace_back(extra_value(row.full_id, column));
  }
}

Id id_of(const RowView& row) {
  return stored_id(row["id"]);
}

std::int64_t key_of(const RowView& row) {
  const std::int64_t within = std::atoll(std::string(row["name"].as_bytes().substr(1, 2)).c_str());
  return row["part"].as_integer() * kKeysOfPart + within;
}

std::string fault_of(const RowView& row) {
  const std::int64_t key = key_of(row);
  const Id body_id = stored_id(row["body_id"]);
  if (row["name"].as_bytes() != name_of_key(key)) {
    return fmt::format("row {} has another row's name", key);
  }
  const std::string_view body = row["body"].as_bytes();
  if (body.size() != body_bytes(body_id) || body != body_of(body_id)) {
    return fmt::format("row {} has another body than that of {:x}", key, body_id);
  }
  return "";
}

std::string difference(const RowView& row, const RowState& expected, const TableModel& table,
                       const World& world) {
  const RowState shown{.id = stored_id(row["id"]),
                       .full_id = stored_id(row["full"]),
                       .body_id = stored_id(row["body_id"]),
                       .schema = stored_id(row["columns"]),
                       .group = value_of(row["grp"]),
                       .number = value_of(row["number"])};
  if (shown != expected) {
    return fmt::format("row {} is of {:x} ({:x}, {:x}), not of {:x} ({:x}, {:x})", key_of(row),
                       shown.id, shown.full_id, shown.body_id, expected.id, expected.full_id,
                       expected.body_id);
  }
  const ExtraColumns& then = world.schemas.at(expected.schema);
  for (const ExtraColumn& extra : world.schemas.at(table.schema)) {
    const bool is_set =
        std::ranges::any_of(then, [&](const ExtraColumn& column) { return column.id == extra.id; });
    const std::int64_t value = is_set || extra.fill == Fill::computed
                                   ? extra_value(expected.full_id, extra.id)
                               : extra.fill == Fill::constant ? extra_value(0, extra.id)
                                                              : kNoValue;
    if (value_of(row[extra_name(extra.id)]) != value) {
      return fmt::format("row {}, column {}", key_of(row), extra_name(extra.id));
    }
  }
  return fault_of(row);
}

IndexSchema index_schema(std::uint32_t index, Id id) {
  return index == 0
             ? IndexSchema{.name = fmt::format("g{:x}", id), .columns = {"grp"}}
             : IndexSchema{.name = fmt::format("u{:x}", id), .columns = {"number"}, .unique = true};
}

std::pair<std::uint32_t, Id> index_of(const std::string& name) {
  return {name[0] == 'g' ? 0U : 1U, std::strtoull(name.c_str() + 1, nullptr, 16)};
}

}  // namespace palimpsest::everything
