#include "engine/format/index_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

namespace palimpsest::engine {
namespace {

KeyEnd end_of_columns(const TableSchema& table, const IndexSchema& index) {
  const bool nullable = std::ranges::any_of(index.columns, [&](const std::string& name) {
    const auto column = table.find_column(name);
    return column && table.columns[*column].type.nullable;
  });
  return index.unique && !nullable ? KeyEnd::open : KeyEnd::closed;
}

}  // namespace

IndexCodec::IndexCodec(const TableSchema& table, const IndexSchema& index)
    : columns_(table, index.columns, end_of_columns(table, index)),
      name_(index.name),
      unique_(index.unique) {}

bool IndexCodec::has_null(std::span<const Value> values) const noexcept {
  return std::ranges::any_of(columns_.columns(),
                             [&](std::size_t column) { return values[column].is_null(); });
}

IndexEntry IndexCodec::encode(std::span<const Value> values, ByteView primary_key,
                              std::span<char> into) const {
  const ByteView columns = columns_.encode_row(values, into);
  if (unique_ && !has_null(values)) {
    return {.key = columns, .value = primary_key};
  }
  if (primary_key.size() > into.size() - columns.size()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("index \"{}\": {} bytes of its columns and {} of the primary key "
                            "exceed the {} of a key",
                            name_, columns.size(), primary_key.size(), into.size()));
  }
  primary_key.copy(into.data() + columns.size(), primary_key.size());
  return {.key = {into.data(), columns.size() + primary_key.size()},
          .value = unique_ ? primary_key : ByteView()};
}

std::optional<ByteView> IndexCodec::primary_key(const IndexEntry& entry) const noexcept {
  if (unique_) {
    return entry.value;
  }
  const auto columns = columns_.bytes_of(entry.key);
  return columns && entry.value.empty() ? std::optional(entry.key.substr(*columns)) : std::nullopt;
}

std::optional<std::string> IndexCodec::decode(const IndexEntry& entry, DecodedKey& decoded) const {
  auto fault = columns_.decode(entry.key, decoded);
  if (!fault) {
    const bool has_null = std::ranges::any_of(decoded.values(), &Value::is_null);
    const ByteView behind = unique_ && !has_null ? ByteView() : entry.value;
    if (unique_ ? decoded.rest() != behind : !entry.value.empty()) {
      fault = "its key and its value contradict each other";
    }
  }
  return fault ? std::optional(fmt::format("index \"{}\": {}", name_, *fault)) : std::nullopt;
}

}  // namespace palimpsest::engine
