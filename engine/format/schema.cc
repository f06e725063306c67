#include "palimpsest/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "palimpsest/error.h"

#include "engine/format/column_value.h"

namespace palimpsest {
namespace {

template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// `of` names the owner of the name in errors.
void check_name(std::string_view name, std::string_view of) {
  if (name.empty() || name.size() > kNameBytesMax) {
    refuse("{} \"{}\": a name must have 1 to {} bytes, this one has {}", of,
           name.substr(0, kNameBytesMax), kNameBytesMax, name.size());
  }
  const auto is_control = [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7F;
  };
  if (std::ranges::any_of(name, is_control)) {
    refuse("{}: a name of {} bytes with control characters", of, name.size());
  }
}

/// What is wrong with a column's type; empty if nothing is.
std::string fault_of(const DataType& type) {
  const bool is_text = type.type == ColumnType::character || type.type == ColumnType::varchar ||
                       type.type == ColumnType::bytes;
  const std::uint32_t length_max =
      is_text ? (type.type == ColumnType::character ? kCharacterBytesMax : kVarcharBytesMax) : 0;
  if (type.type < ColumnType::boolean || type.type > ColumnType::bytes) {
    return fmt::format("there is no type {}", static_cast<unsigned>(type.type));
  }
  if (type.length > length_max || (is_text && type.length == 0)) {
    return fmt::format("a length of {} bytes: it must be from {} to {}", type.length,
                       is_text ? 1 : 0, length_max);
  }
  if (type.type != ColumnType::decimal) {
    return type.precision == 0 && type.scale == 0 ? "" : "only decimals have precision and scale";
  }
  if (type.precision == 0 || type.precision > kDecimalDigitsMax) {
    return fmt::format("{} digits: it must have 1 to {}", type.precision, kDecimalDigitsMax);
  }
  return type.scale <= type.precision
             ? ""
             : fmt::format("{} digits after the point, but only {} digits in all", type.scale,
                           type.precision);
}

void check_no_name_twice(std::vector<std::string_view> names, std::string_view of) {
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) {
    refuse("{}: column \"{}\" is named twice", of, *twice);
  }
}

/// Checks the column names of a key or an index.
void check_key_columns(const TableSchema& table, std::span<const std::string> names,
                       const std::string& of) {
  if (names.empty() || names.size() > kKeyColumnsMax) {
    refuse("{}: {} columns: it must have 1 to {}", of, names.size(), kKeyColumnsMax);
  }
  std::size_t bytes = 0;
  for (const std::string& name : names) {
    const auto column = table.find_column(name);
    if (!column) {
      refuse("{}: there is no column \"{}\"", of, name.substr(0, kNameBytesMax));
    }
    bytes += engine::fixed_bytes(table.columns[*column].type);
  }
  check_no_name_twice({names.begin(), names.end()}, of);
  if (bytes > kKeyBytesMax) {
    refuse("{}: at least {} bytes, but a key has at most {}", of, bytes, kKeyBytesMax);
  }
}

static_assert(kColumnsMax * kCharacterBytesMax < kRowBytesMax / 2,
              "fixed columns always fit a row");

}  // namespace

std::string_view name_of(ColumnType type) noexcept {
  switch (type) {
    case ColumnType::boolean: return "boolean";
    case ColumnType::int8: return "int8";
    case ColumnType::int16: return "int16";
    case ColumnType::int32: return "int32";
    case ColumnType::int64: return "int64";
    case ColumnType::float32: return "float32";
    case ColumnType::float64: return "float64";
    case ColumnType::decimal: return "decimal";
    case ColumnType::date: return "date";
    case ColumnType::timestamp: return "timestamp";
    case ColumnType::character: return "character";
    case ColumnType::varchar: return "varchar";
    case ColumnType::bytes: return "bytes";
  }
  return "unknown";
}

std::string text_of(const DataType& type) {
  std::string text(name_of(type.type));
  if (type.type == ColumnType::decimal) {
    text += fmt::format("({}, {})", type.precision, type.scale);
  } else if (type.length != 0) {
    text += fmt::format("({})", type.length);
  }
  return type.nullable ? fmt::format("nullable({})", text) : text;
}

std::optional<std::size_t> TableSchema::find_column(std::string_view column) const noexcept {
  const auto found = std::ranges::find(columns, column, &ColumnDefinition::name);
  return found == columns.end() ? std::nullopt
                                : std::optional(static_cast<std::size_t>(found - columns.begin()));
}

void TableSchema::validate() const {
  check_name(name, "table");
  const std::string of = fmt::format("table \"{}\"", name);
  if (columns.empty() || columns.size() > kColumnsMax) {
    refuse("{}: {} columns: it must have 1 to {}", of, columns.size(), kColumnsMax);
  }
  std::vector<std::string_view> names;
  for (const ColumnDefinition& column : columns) {
    check_name(column.name, of + ", column");
    names.emplace_back(column.name);
    const std::string fault = fault_of(column.type);
    if (!fault.empty()) {
      refuse("{}, column \"{}\" of type {}: {}", of, column.name, text_of(column.type), fault);
    }
  }
  check_no_name_twice(std::move(names), of);
  check_key_columns(*this, key, of + ", primary key");
  for (const std::string& column : key) {
    if (columns[*find_column(column)].type.nullable) {
      refuse("{}: column \"{}\" of the primary key must not be nullable", of, column);
    }
  }
}

void IndexSchema::validate(const TableSchema& table) const {
  check_name(name, fmt::format("table \"{}\", index", table.name));
  check_key_columns(table, columns, fmt::format("table \"{}\", index \"{}\"", table.name, name));
}

TableSchema key_value_table(std::string name) {
  return {.name = std::move(name),
          .columns = {{"key", types::bytes(kKeyBytesMax)}, {"value", types::bytes()}},
          .key = {"key"}};
}

}  // namespace palimpsest
