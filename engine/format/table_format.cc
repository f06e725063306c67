#include "engine/format/table_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/checksum.h"

namespace palimpsest::detail {
namespace {

/// A checksum of the catalog's record of the name, the columns and the key.
LayoutNumber layout_of(const TableSchema& table) {
  const std::string text = engine::encode_table({.schema = table, .tree = TreeId{1}});
  const LayoutNumber number = checksum(std::as_bytes(std::span(text)));
  return number == 0 ? 1 : number;
}

TableFormat::Index format_of(const TableSchema& table, const IndexSchema& index) {
  TableFormat::Index format{.codec = engine::IndexCodec(table, index), .columns = {}};
  for (const std::string& name : index.columns) {
    format.columns.push_back(*table.find_column(name));
  }
  return format;
}

/// Whether any bytes of up to `length` are a value.
bool takes_any_bytes(const DataType& type, std::size_t length) noexcept {
  return (type.type == ColumnType::bytes || type.type == ColumnType::varchar) && !type.nullable &&
         type.length >= length;
}

/// Whether any bytes are a valid key, and any are a valid row, so that neither has to be checked.
bool is_key_value_table(const TableSchema& table) {
  if (table.columns.size() != 2 || table.key.size() != 1) {
    return false;
  }
  const std::size_t key = *table.find_column(table.key[0]);
  return takes_any_bytes(table.columns[key].type, kKeyBytesMax) &&
         takes_any_bytes(table.columns[1 - key].type, kVarcharBytesMax);
}

}  // namespace

TableFormat::TableFormat(engine::StoredTable stored)
    : stored_(std::move(stored)),
      rows_(stored_.schema),
      keys_(stored_.schema),
      indexed_(stored_.schema.columns.size()) {
  layout = layout_of(stored_.schema);
  for (const engine::StoredIndex& index : stored_.indexes) {
    indexes_.push_back(format_of(stored_.schema, index.schema));
    for (const std::size_t column : indexes_.back().columns) {
      indexed_[column] = true;
    }
  }
  key_value_ = is_key_value_table(stored_.schema);
}

FixedPlace TableFormat::fixed_place(std::size_t column) const noexcept {
  const engine::ColumnPlace& place = rows_.place(column);
  return {.offset = place.offset,
          .null_bit = place.null_bit,
          .may_change = !is_indexed(column),
          .layout = layout};
}

std::optional<std::size_t> TableFormat::find_index(std::string_view name) const noexcept {
  const auto found =
      std::find_if(stored_.indexes.begin(), stored_.indexes.end(),
                   [&](const engine::StoredIndex& index) { return index.schema.name == name; });
  return found == stored_.indexes.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - stored_.indexes.begin()));
}

std::size_t TableFormat::require_index(std::string_view name) const {
  const auto number = find_index(name);
  if (!number) {
    throw Error(ErrorCode::not_found,
                fmt::format("table \"{}\" has no index \"{}\"", stored_.schema.name, name));
  }
  return *number;
}

std::optional<std::size_t> TableFormat::key_position(std::size_t column) const noexcept {
  const auto numbers = keys_.columns();
  const auto found = std::find(numbers.begin(), numbers.end(), column);
  return found == numbers.end() ? std::nullopt
                                : std::optional(static_cast<std::size_t>(found - numbers.begin()));
}

std::span<const Value> KeyParts::values(const TableFormat& format, ByteView key) {
  if (!decoded_) {
    if (const auto fault = format.keys().decode(key, parts_)) {
      throw Error(ErrorCode::corruption,
                  fmt::format("table \"{}\": a key is damaged: {}", format.schema().name, *fault));
    }
    decoded_ = true;
  }
  return parts_.values();
}

}  // namespace palimpsest::detail
