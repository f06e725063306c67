#include "engine/table/new_row.h"

#include <fmt/format.h>

#include <string>

#include "palimpsest/error.h"

#include "engine/format/column_value.h"

namespace palimpsest::engine {
namespace {

[[noreturn]] void refuse_row(const TableFormat& format, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\": {}", format.schema().name, why));
}

}  // namespace

btree::NewRecord record_of(const TableDefinition& definition, std::span<const Value> values,
                           KeyMemory& key_memory, std::string& row_memory) {
  const TableFormat& format = *definition.format;
  const TableSchema& schema = format.schema();
  if (values.size() != schema.columns.size()) [[unlikely]] {
    refuse_row(format, fmt::format("a row of {} values: the table has {} columns", values.size(),
                                   schema.columns.size()));
  }
  const ByteView key = KeySpace(format, *definition.rows).whole_of_row(values, key_memory);
  if (format.is_key_value()) {
    const std::size_t column = 1 - format.keys().columns()[0];
    require_fit(schema.name, schema.columns[column], values[column]);
    return {key, values[column].as_bytes()};
  }
  format.rows().encode(values, row_memory);
  return {key, row_memory};
}

NewRow::NewRow(const TableDefinition& definition, const Values& row) : values_(row.span()) {
  const auto& [key, bytes] = record_of(definition, values_, key_memory_, encoded_);
  key_ = key;
  bytes_ = bytes;
}

NewRow::NewRow(const TableDefinition& definition, const EncodedRow& row) {
  const auto& [key, bytes] = record_of(definition, row);
  key_ = key;
  bytes_ = bytes;
}

btree::NewRecord record_of(const TableDefinition& definition, const EncodedRow& row) {
  const TableFormat& format = *definition.format;
  if (row.layout != 0 && row.layout != format.layout) [[unlikely]] {
    refuse_row(format, "the row was encoded for another table, or for this one with other columns");
  }
  const KeySpace keys(format, *definition.rows);
  if (format.is_key_value()) {
    keys.require_whole(row.key);
    if (row.bytes.size() > kRowBytesMax) [[unlikely]] {
      refuse_row(format,
                 fmt::format("a row of {} bytes beside its key is too long: the longest has {}",
                             row.bytes.size(), kRowBytesMax));
    }
    return {row.key, row.bytes};
  }
  if (format.keys().is_surely_valid(row.key)) [[likely]] {
    keys.require_length(row.key.size());
  } else {
    keys.require_whole(row.key);
    DecodedKey decoded;
    if (const auto fault = format.keys().decode(row.key, decoded)) {
      refuse_row(format, *fault);
    }
  }
  if (const auto fault = format.rows().validate(row.bytes)) {
    refuse_row(format, *fault);
  }
  return {row.key, row.bytes};
}

std::span<const Value> NewRow::values(const TableFormat& format) {
  if (values_.empty()) {
    values_ = decoded_.of(format, key_, bytes_);
  }
  return values_;
}

}  // namespace palimpsest::engine
