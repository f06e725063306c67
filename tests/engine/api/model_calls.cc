#include "tests/engine/api/model_calls.h"

#include <array>
#include <vector>

#include "palimpsest/row_encoder.h"

namespace palimpsest::test {
namespace {

using namespace palimpsest::types;

std::optional<std::int64_t> integer_of(const Value& value) {
  return value.is_null() ? std::nullopt : std::optional(value.as_integer());
}

Value value_of(const std::optional<std::int64_t>& integer) {
  return integer ? Value(*integer) : Value();
}

std::array<Value, 6> values_of(const ModelKey& key, const ModelRow& row) {
  return {key.part, key.name, value_of(row.group), value_of(row.number), row.count, row.body};
}

Outcome insert_encoded(const Table& table, Transaction* in, const std::array<Value, 6>& values) {
  RowEncoder encode(table);
  const EncodedRow row = encode(std::span<const Value>(values));
  return in != nullptr ? table.insert_many(*in, {&row, 1}) : table.insert_many({&row, 1});
}

/// Replaces the row's group, number and body, and keeps its count.
Outcome rewrite(const Table& table, Transaction* in, const ModelKey& key, const ModelRow& row) {
  RowEncoder encode(table);
  std::string bytes;
  const auto rewritten = [&](const RowView& before) -> std::string_view {
    ModelRow after = row;
    after.count = before["count"].as_integer();
    bytes = encode(std::span<const Value>(values_of(key, after))).bytes;
    return bytes;
  };
  const Key named{key.part, key.name};
  return in != nullptr ? table.rewrite(*in, named, rewritten) : table.rewrite(named, rewritten);
}

}  // namespace

TableSchema model_schema(const std::string& name) {
  return {.name = name,
          .columns = {{"part", int16()},
                      {"name", varchar(12)},
                      {"grp", nullable(int32())},
                      {"number", nullable(int64())},
                      {"count", int64()},
                      {"body", varchar(1U << 20U)}},
          .key = {"part", "name"}};
}

ModelKey key_of(const RowView& row) {
  return {row["part"].as_integer(), std::string(row["name"].as_bytes())};
}

ModelRow row_of(const RowView& row) {
  return {.group = integer_of(row["grp"]),
          .number = integer_of(row["number"]),
          .count = row["count"].as_integer(),
          .body = std::string(row["body"].as_bytes())};
}

ModelRows rows_of(Cursor cursor, Direction direction) {
  ModelRows rows;
  if (direction == Direction::backward) {
    cursor.seek_last();
  }
  while (cursor.valid()) {
    rows.emplace(key_of(cursor.row()), row_of(cursor.row()));
    direction == Direction::backward ? cursor.previous() : cursor.next();
  }
  return rows;
}

std::optional<ModelRow> changed_by(ChangeKind kind, const ModelRow* seen, const ModelRow& row) {
  switch (kind) {
    case ChangeKind::insert:
    case ChangeKind::insert_many:
    case ChangeKind::upsert: return row;
    case ChangeKind::erase: return std::nullopt;
    case ChangeKind::modify:
    case ChangeKind::modify_many: {
      ModelRow made = *seen;
      made.count = row.count;
      return made;
    }
    case ChangeKind::update:
    case ChangeKind::rewrite: break;
  }
  ModelRow made = row;
  made.count = seen->count;
  return made;
}

Outcome change(const Table& table, Transaction* in, ChangeKind kind, const ModelKey& key,
               const ModelRow& row) {
  const std::array<Value, 6> all = values_of(key, row);
  const std::span<const Value> values(all);
  const Key named{key.part, key.name};
  const std::array<Change, 3> changes{Change{"grp", all[2]}, Change{"number", all[3]},
                                      Change{"body", all[5]}};
  const std::span<const Change> changed(changes);
  const auto count = table.column<std::int64_t>("count");
  const auto edit = [&](RowEditor& editor) { editor.set(count, row.count); };
  const auto edit_many = [&](std::size_t, RowEditor& editor) { editor.set(count, row.count); };
  switch (kind) {
    case ChangeKind::insert:
      return in != nullptr ? table.insert(*in, values) : table.insert(values);
    case ChangeKind::insert_many: return insert_encoded(table, in, all);
    case ChangeKind::upsert:
      return in != nullptr ? table.upsert(*in, values) : table.upsert(values);
    case ChangeKind::update:
      return in != nullptr ? table.update(*in, named, changed) : table.update(named, changed);
    case ChangeKind::modify:
      return in != nullptr ? table.modify(*in, named, edit) : table.modify(named, edit);
    case ChangeKind::modify_many:
      return in != nullptr ? table.modify_many(*in, {&named, 1}, edit_many)
                           : table.modify_many({&named, 1}, edit_many);
    case ChangeKind::rewrite: return rewrite(table, in, key, row);
    case ChangeKind::erase: break;
  }
  return in != nullptr ? table.erase(*in, named) : table.erase(named);
}

}  // namespace palimpsest::test
