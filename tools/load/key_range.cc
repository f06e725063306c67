#include "tools/load/key_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/load/dialect.h"
#include "tools/load/fault.h"
#include "tools/load/record_reader.h"
#include "tools/load/usage_error.h"
#include "tools/load/value_text.h"

namespace palimpsest::load {
namespace {

constexpr std::string_view kBetween = "..";

/// Where the two points stand that are in no quotes.
std::size_t find_between(std::string_view text) {
  bool in_quotes = false;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    in_quotes = in_quotes != (text[at] == '"');
    if (!in_quotes && text.substr(at).starts_with(kBetween)) {
      return at;
    }
  }
  throw UsageError(
      fmt::format("a range of keys is A..B, A.. or ..B: not {}",
                  in_quotes ? "one in quotes that do not end" : load::in_quotes(text)));
}

}  // namespace

KeyRange::KeyRange(const TableSchema& table, std::string_view text) : range_(Range::all()) {
  const std::size_t between = find_between(text);
  lower_ = values_of(table, text.substr(0, between));
  upper_ = values_of(table, text.substr(between + kBetween.size()));
  if (!lower_.empty() && !upper_.empty()) {
    range_ = Range::between(Key(lower_), Key(upper_));
  } else if (!lower_.empty()) {
    range_ = Range::from(Key(lower_));
  } else if (!upper_.empty()) {
    range_ = Range::up_to(Key(upper_));
  }
}

std::vector<Value> KeyRange::values_of(const TableSchema& table, std::string_view text) {
  std::vector<Value> values;
  if (text.empty()) {
    return values;
  }
  const Dialect dialect = Dialect::of(Format::csv);
  RecordReader reader(dialect, text, true, RecordReader::Reads::fields);
  RawRecord record;
  if (!reader.next(record) || record.fault || reader.position() != text.size() ||
      record.fields.size() > table.key.size()) {
    throw UsageError(fmt::format("{} is no key of table {}, or the first columns of one",
                                 in_quotes(text), in_quotes(table.name)));
  }
  for (const RawField& field : record.fields) {
    const std::string& name = table.key[values.size()];
    const std::span<char> room = arena_.take(field.text.size());
    std::string_view meant(room.data(), room.size());
    std::ranges::copy(field.text, room.begin());
    if (field.escaped) {
      meant = unescape(dialect, field, room.data()).text;
    }
    Value value;
    const DataType& type = table.columns[*table.find_column(name)].type;
    if (const auto fault = parse_value(type, meant, BytesText::hex, arena_, value)) {
      throw UsageError(fmt::format("{} is no value of column {}: {}", in_quotes(field.text),
                                   in_quotes(name), fault->reason));
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace palimpsest::load
