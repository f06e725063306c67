#include "tools/load/row_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/fault.h"
#include "tools/load/value_text.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kEscapedNull = "\\N";

/// Whether JSON has such values, and so writes them without quotes.
bool is_bare_in_json(const DataType& type, const Value& value) {
  switch (type.type) {
    case ColumnType::boolean:
    case ColumnType::int8:
    case ColumnType::int16:
    case ColumnType::int32:
    case ColumnType::int64:
    case ColumnType::decimal: return true;
    case ColumnType::float32:
    case ColumnType::float64: return std::isfinite(value.as_floating());
    case ColumnType::date:
    case ColumnType::timestamp:
    case ColumnType::character:
    case ColumnType::varchar:
    case ColumnType::bytes: break;
  }
  return false;
}

}  // namespace

bool append_json_string(std::string_view text, std::string& into) {
  into += '"';
  for (const char byte : text) {
    switch (byte) {
      case '"': into += "\\\""; break;
      case '\\': into += "\\\\"; break;
      case '\n': into += "\\n"; break;
      case '\r': into += "\\r"; break;
      case '\t': into += "\\t"; break;
      default:
        if (static_cast<unsigned char>(byte) < 0x20) {
          into += fmt::format("\\u{:04x}", static_cast<unsigned>(byte));
        } else {
          into += byte;
        }
    }
  }
  into += '"';
  return is_utf8(text);
}

RowText::RowText(const TableSchema& table, const Dialect& dialect, std::vector<std::size_t> columns)
    : table_(table),
      dialect_(dialect),
      delimiter_(dialect.delimiter_text()),
      columns_(std::move(columns)) {
  const char quote = dialect.quote.value_or('"');
  for (const char byte : delimiter_ + quote + dialect.escape.value_or(quote) + "\n\r") {
    is_special_[static_cast<unsigned char>(byte)] = true;
  }
  for (const std::size_t number : columns_) {
    const ColumnDefinition& column = table_.columns[number];
    std::string member = members_.empty() ? "{" : ",";
    if (!append_json_string(column.name, member) && dialect.is_json()) {
      refuse(column, "its name is no UTF-8, which JSON needs");
    }
    members_.push_back(member + ":");
  }
}

void RowText::refuse(const ColumnDefinition& column, std::string_view why) const {
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("table {}, column {}: {}", in_quotes(table_.name), in_quotes(column.name), why));
}

void RowText::append_line_end(std::string& into) const {
  if (dialect_.format == Format::tbl) {
    into += delimiter_;
  }
  into += '\n';
}

void RowText::append_header(std::string& into) const {
  if (dialect_.is_json()) {
    return;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnDefinition& column = table_.columns[columns_[i]];
    into += i == 0 ? "" : delimiter_;
    switch (dialect_.format) {
      case Format::tsv: append_tsv(column, column.name, into); break;
      case Format::tbl: append_tbl(column, column.name, into); break;
      case Format::csv:
      case Format::json:
      case Format::jsonl: append_csv(column, column.name, into);
    }
  }
  append_line_end(into);
}

void RowText::append(const RowView& row, std::string& into) {
  if (dialect_.is_json()) {
    if (dialect_.format == Format::json) {
      into += has_rows_ ? ",\n" : "[\n";
    }
    append_object(row, into);
    has_rows_ = true;
    return;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    into += i == 0 ? "" : delimiter_;
    append_field(table_.columns[columns_[i]], row[columns_[i]], into);
  }
  append_line_end(into);
}

void RowText::append_field(const ColumnDefinition& column, const Value& value, std::string& into) {
  if (value.is_null()) {
    append_null(into);
    return;
  }
  if (dialect_.format == Format::csv) {  // most values need no quotes
    const std::size_t begin = into.size();
    append_value(column.type, value, dialect_.bytes, into);
    if (is_plain_csv(std::string_view(into).substr(begin))) {
      return;
    }
    text_.assign(into, begin);
    into.resize(begin);
    append_csv(column, text_, into);
    return;
  }
  text_.clear();
  append_value(column.type, value, dialect_.bytes, text_);
  dialect_.format == Format::tsv ? append_tsv(column, text_, into)
                                 : append_tbl(column, text_, into);
}

void RowText::append_null(std::string& into) const {
  switch (dialect_.null_rule) {
    case NullRule::empty: return;
    case NullRule::escaped: into += kEscapedNull; return;
    case NullRule::text: into += dialect_.null_text; return;
  }
}

/// Whether a value needs no quotes.
bool RowText::is_plain_csv(std::string_view text) const {
  const bool has_special = std::ranges::any_of(
      text, [&](char byte) { return is_special_[static_cast<unsigned char>(byte)]; });
  const bool looks_like_null =
      dialect_.null_rule == NullRule::text ? dialect_.is_null_text(text) : text.empty();
  const bool looks_like_comment = !dialect_.comment.empty() && text.starts_with(dialect_.comment);
  return !has_special && !looks_like_null && !looks_like_comment &&
         !text.starts_with(kByteOrderMark);
}

void RowText::append_csv(const ColumnDefinition& column, std::string_view text,
                         std::string& into) const {
  if (is_plain_csv(text)) {
    into += text;
    return;
  }
  const char quote = dialect_.quote.value_or('"');
  const char escape = dialect_.escape.value_or(quote);
  if (!dialect_.quote) {
    refuse(column, "a value needs quotes, and there are none");
  }
  into += quote;
  for (const char byte : text) {
    if (byte == quote || byte == escape) {
      into += escape;
    }
    into += byte;
  }
  into += quote;
}

void RowText::append_tsv(const ColumnDefinition& column, std::string_view text,
                         std::string& into) const {
  if (dialect_.null_rule == NullRule::text && text == dialect_.null_text) {
    refuse(column, "tsv cannot write a value that looks like null; another --null can");
  }
  for (const char byte : text) {
    switch (byte) {
      case '\t': into += "\\t"; break;
      case '\n': into += "\\n"; break;
      case '\r': into += "\\r"; break;
      case '\\': into += "\\\\"; break;
      default: into += byte;
    }
  }
}

void RowText::append_tbl(const ColumnDefinition& column, std::string_view text,
                         std::string& into) const {
  const bool has_special = std::ranges::any_of(text, [&](char byte) {
    return delimiter_.find(byte) != std::string::npos || byte == '\n' || byte == '\r';
  });
  if (has_special) {
    refuse(column, "tbl cannot write a value with a delimiter or a line end in it; csv can");
  }
  const bool looks_like_null =
      dialect_.null_rule == NullRule::text ? text == dialect_.null_text : text.empty();
  if (looks_like_null && column.type.nullable) {
    refuse(column, "tbl cannot write a value that looks like null; csv can, or another --null");
  }
  into += text;
}

void RowText::append_object(const RowView& row, std::string& into) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    into += members_[i];
    append_member(table_.columns[columns_[i]], row[columns_[i]], into);
  }
  into += dialect_.format == Format::json ? "}" : "}\n";
}

void RowText::append_end(std::string& into) const {
  if (dialect_.format == Format::json) {
    into += has_rows_ ? "\n]\n" : "[]\n";
  }
}

void RowText::append_member(const ColumnDefinition& column, const Value& value, std::string& into) {
  if (value.is_null()) {
    into += "null";
    return;
  }
  text_.clear();
  append_value(column.type, value, dialect_.bytes, text_);
  if (is_bare_in_json(column.type, value)) {
    into += text_;
  } else if (!append_json_string(text_, into)) {
    refuse(column, "a value is no UTF-8, which JSON needs; csv can write it");
  }
}

}  // namespace palimpsest::load
