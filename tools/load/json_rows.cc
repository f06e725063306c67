#include "tools/load/json_rows.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tools/load/batch_writer.h"
#include "tools/load/record_reader.h"

namespace palimpsest::load {
namespace {

namespace ondemand = simdjson::ondemand;

bool is_digit(char byte) noexcept {
  return byte >= '0' && byte <= '9';
}

/// Takes the digits off that a text begins with; false if there are none.
bool take_digits(std::string_view& text) noexcept {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits != 0;
}

/// Whether a token is a number of JSON: the library hands out what stands there.
bool is_number(std::string_view token) noexcept {
  token.remove_prefix(token.starts_with('-') ? 1 : 0);
  const bool leading_zero = token.size() > 1 && token[0] == '0' && is_digit(token[1]);
  if (leading_zero || !take_digits(token)) {
    return false;
  }
  if (token.starts_with('.')) {
    token.remove_prefix(1);
    if (!take_digits(token)) {
      return false;
    }
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    token.remove_prefix(1);
    token.remove_prefix(token.starts_with('+') || token.starts_with('-') ? 1 : 0);
    return take_digits(token) && token.empty();
  }
  return token.empty();
}

bool holds_numbers(ColumnType type) noexcept {
  return type >= ColumnType::int8 && type <= ColumnType::decimal;
}

std::string_view without_space(std::string_view token) noexcept {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

/// Where an object ends that a text begins with, its braces and strings counted; npos if it does
/// not end.
std::size_t object_end(std::string_view text) noexcept {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (in_string) {
      at += byte == '\\' ? 1 : 0;
      in_string = byte != '"';
    } else if (byte == '"') {
      in_string = true;
    } else if (byte == '{') {
      ++depth;
    } else if (byte == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

/// What is wrong with a record, and where.
struct JsonFault {
  FaultKind kind = FaultKind::parse;
  std::string reason{};
  std::size_t column = BatchRecord::kNone;
  std::string value{};
  bool is_unknown = false;  ///< a member that the table has no column for
};

using Fault = std::optional<JsonFault>;

Fault parse_fault(std::string reason) {
  return JsonFault{.reason = std::move(reason)};
}

Fault parse_fault(simdjson::error_code error) {
  return parse_fault(fmt::format("no JSON object: {}", simdjson::error_message(error)));
}

Fault type_fault(std::string reason) {
  return JsonFault{.kind = FaultKind::type, .reason = std::move(reason)};
}

class JsonRows : public RowParser {
 public:
  JsonRows(const TableSchema& table, const Dialect& dialect, std::unique_ptr<RowCoder> coder)
      : table_(table),
        dialect_(dialect),
        writer_(table, dialect.values, std::move(coder)),
        is_set_(table.columns.size()) {}

  RowBatch parse(PlannedChunk input) override {
    writer_.begin(std::move(input.chunk));
    const Chunk& chunk = writer_.chunk();
    RecordReader lines(dialect_, chunk.text(), chunk.is_last, RecordReader::Reads::ends);
    RawRecord record;
    plan_ = input.plan;
    while (lines.next(record)) {
      const std::string_view line = line_of(record);
      if (dialect_.format == Format::json && without_space(line).empty()) {
        continue;  // behind the last object
      }
      writer_.begin_record(record.begin, record.end, chunk.line + record.lines_before);
      at_ = record.begin;
      if (const Fault fault = add_object(line, record.begin, writer_.values())) {
        const std::string_view shown = fault->column == BatchRecord::kNone && fault->value.empty()
                                           ? without_space(line)
                                           : std::string_view(fault->value);
        writer_.end_fault(fault->kind, std::clamp(at_, record.begin, record.end - 1), fault->column,
                          fault->reason, shown);
        writer_.last_fault().is_unknown = fault->is_unknown;
      } else {
        writer_.end_row();
      }
    }
    return writer_.end(lines.skipped_lines());
  }

 private:
  /// Without what ends an object, if that is no white space.
  [[nodiscard]] std::string_view line_of(const RawRecord& record) const noexcept {
    std::string_view line = writer_.chunk().text().substr(record.begin, record.end - record.begin);
    line.remove_suffix(line.ends_with(kObjectEnd) ? 1 : 0);
    return line;
  }

  /// `begin`: where the line does, in the chunk.
  Fault add_object(std::string_view line, std::size_t begin, std::span<Value> values) {
    const std::size_t readable = writer_.chunk().bytes - begin + Chunk::kPaddingBytes;
    ondemand::document document;
    if (const auto error = parser_.iterate(line.data(), line.size(), readable).get(document)) {
      return no_object(line, begin, error);
    }
    ondemand::object object;
    if (const auto error = document.get_object().get(object)) {
      return no_object(line, begin, error);
    }
    std::fill(is_set_.begin(), is_set_.end(), false);
    next_ = 0;
    for (auto member : object) {
      ondemand::field field;
      if (const auto error = std::move(member).get(field)) {
        return parse_fault(error);
      }
      if (Fault fault = add_member(field, values)) {
        return fault;
      }
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
      Fault more = find_more(line, begin);
      return more ? more : parse_fault("something follows the object");
    }
    return set_absent(values);
  }

  Fault no_object(std::string_view line, std::size_t begin, simdjson::error_code error) {
    Fault more = find_more(line, begin);
    if (!more && dialect_.format == Format::jsonl &&
        line.find_first_not_of(" \t\r\n[") != line.find_first_not_of(" \t\r\n")) {
      return parse_fault("no JSON object: an array begins; --format json reads arrays of objects");
    }
    if (!more && dialect_.format == Format::jsonl && object_end(line) == std::string_view::npos &&
        line.find('{') != std::string_view::npos) {
      return parse_fault(
          "no JSON object: it does not end in its line; --format json reads objects of several "
          "lines");
    }
    return more ? more : parse_fault(error);
  }

  /// What stands behind the object, if something does: the library looks for an object's end at the
  /// text's.
  Fault find_more(std::string_view line, std::size_t line_begin) {
    const std::size_t begin = line.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || line[begin] != '{') {
      return std::nullopt;
    }
    const std::size_t end = object_end(line.substr(begin));
    const std::size_t more =
        end == std::string_view::npos ? end : line.find_first_not_of(" \t\r\n", begin + end);
    if (more == std::string_view::npos) {
      return std::nullopt;
    }
    at_ = line_begin + more;
    return JsonFault{.reason = "something follows the object",
                     .value = std::string(without_space(line.substr(more)))};
  }

  Fault set_absent(std::span<Value> values) const {
    for (std::size_t column = 0; column < is_set_.size(); ++column) {
      if (is_set_[column]) {
        continue;
      }
      if (plan_ != nullptr && plan_->numbered == column) {
        values[column] = std::int64_t{0};
        continue;
      }
      if (!table_.columns[column].type.nullable) {
        return JsonFault{.kind = FaultKind::null,
                         .reason = "the object has no such member, and the column is never null",
                         .column = column};
      }
      values[column] = Value();
    }
    return std::nullopt;
  }

  /// Members mostly stand in the order of the columns.
  std::optional<std::size_t> find_column(std::string_view name) {
    if (next_ < table_.columns.size() && table_.columns[next_].name == name) {
      return next_++;
    }
    const auto found = table_.find_column(name);
    next_ = found ? *found + 1 : next_;
    return found;
  }

  Fault add_member(ondemand::field& field, std::span<Value> values) {
    const std::string_view token = field.value().raw_json_token();
    at_ = static_cast<std::size_t>(token.data() - writer_.chunk().memory.get());
    std::string_view name;
    if (const auto error = field.unescaped_key().get(name)) {
      return parse_fault(error);
    }
    const auto column = find_column(name);
    if (!column && dialect_.ignore_unknown) {
      return std::nullopt;
    }
    if (!column) {
      return JsonFault{
          .reason = fmt::format("table {} has no column {} (--ignore-unknown leaves it out)",
                                in_quotes(table_.name), in_quotes(name)),
          .value = std::string(name),
          .is_unknown = true};
    }
    if (is_set_[*column]) {
      return JsonFault{.reason = "the member is there twice", .value = std::string(name)};
    }
    is_set_[*column] = true;
    Fault fault = set_value(*column, field.value(), values[*column]);
    if (fault) {
      fault->column = *column;
      fault->value = fault->value.empty() ? std::string(without_space(token)) : fault->value;
    }
    return fault;
  }

  Fault set_value(std::size_t column, ondemand::value& value, Value& into) {
    const DataType& type = table_.columns[column].type;
    ondemand::json_type kind{};
    if (const auto error = value.type().get(kind)) {
      return parse_fault(error);
    }
    const bool is_text = type.type == ColumnType::varchar || type.type == ColumnType::character;
    if (dialect_.keep_nested && is_text && kind != ondemand::json_type::null &&
        kind != ondemand::json_type::string) {
      return set_json(column, kind, value, into);
    }
    switch (kind) {
      case ondemand::json_type::null: return set_null(type, value, into);
      case ondemand::json_type::boolean: return set_boolean(type, value, into);
      case ondemand::json_type::number: return set_number(column, value, into);
      case ondemand::json_type::string: return set_string(column, value, into);
      case ondemand::json_type::array:
      case ondemand::json_type::object: break;
    }
    return type_fault(
        "an array or an object is no value of a column (--keep-nested keeps it as text)");
  }

  /// Any value, as it stands there.
  Fault set_json(std::size_t column, ondemand::json_type kind, ondemand::value& value,
                 Value& into) {
    std::string_view text = without_space(value.raw_json_token());
    simdjson::error_code error = simdjson::SUCCESS;
    if (kind == ondemand::json_type::object) {
      ondemand::object object;
      error = value.get_object().get(object);
      error = error == simdjson::SUCCESS ? object.raw_json().get(text) : error;
    } else if (kind == ondemand::json_type::array) {
      ondemand::array array;
      error = value.get_array().get(array);
      error = error == simdjson::SUCCESS ? array.raw_json().get(text) : error;
    } else if (!is_number(text) && text != "true" && text != "false") {
      return parse_fault("no JSON object: neither a number nor true nor false");
    }
    // The library has looked for the end only.
    error = error == simdjson::SUCCESS ? judge_.parse(text.data(), text.size()).error() : error;
    return error == simdjson::SUCCESS ? of(writer_.parse(column, text, dialect_.bytes, into))
                                      : parse_fault(error);
  }

  static Fault set_null(const DataType& type, ondemand::value& value, Value& into) {
    bool is_null = false;
    if (const auto error = value.is_null().get(is_null)) {
      return parse_fault(error);
    }
    if (!is_null) {
      return parse_fault("no JSON object: neither null nor anything else");
    }
    if (!type.nullable) {
      ValueFault fault = null_fault();
      return JsonFault{.kind = fault.kind, .reason = std::move(fault.reason)};
    }
    into = Value();
    return std::nullopt;
  }

  static Fault set_boolean(const DataType& type, ondemand::value& value, Value& into) {
    bool boolean = false;
    if (const auto error = value.get_bool().get(boolean)) {
      return parse_fault(error);
    }
    if (type.type != ColumnType::boolean) {
      return type_fault("true and false are values of bool columns only");
    }
    into = boolean;
    return std::nullopt;
  }

  Fault set_number(std::size_t column, ondemand::value& value, Value& into) {
    const std::string_view number = without_space(value.raw_json_token());
    if (!is_number(number)) {
      return parse_fault("no JSON object: a number that is none");
    }
    if (!holds_numbers(table_.columns[column].type.type)) {
      return type_fault("a number in a column that holds none");
    }
    return of(writer_.parse(column, number, dialect_.bytes, into));
  }

  /// The string lies in the parser's memory, until the next record.
  Fault set_string(std::size_t column, ondemand::value& value, Value& into) {
    std::string_view string;
    if (const auto error = value.get_string().get(string)) {
      return parse_fault(error);
    }
    Fault fault = of(writer_.parse(column, string, dialect_.bytes, into));
    if (fault) {
      fault->value = string;
    }
    return fault;
  }

  static Fault of(std::optional<ValueFault> fault) {
    return fault ? Fault(JsonFault{.kind = fault->kind, .reason = std::move(fault->reason)})
                 : std::nullopt;
  }

  const TableSchema& table_;
  const Dialect& dialect_;
  BatchWriter writer_;
  ondemand::parser parser_{};
  simdjson::dom::parser judge_{};  ///< of values that are kept as they stand there
  std::vector<bool> is_set_;
  std::shared_ptr<const ColumnPlan> plan_{};  ///< of the chunk's file
  std::size_t next_ = 0;                      ///< the column that the next member is expected to be
  std::size_t at_ = 0;                        ///< in the chunk, of what is looked at
};

}  // namespace

std::unique_ptr<RowParser> make_json_rows(const TableSchema& table, const Dialect& dialect,
                                          std::unique_ptr<RowCoder> coder) {
  return std::make_unique<JsonRows>(table, dialect, std::move(coder));
}

}  // namespace palimpsest::load
