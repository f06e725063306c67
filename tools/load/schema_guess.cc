#include "tools/load/schema_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/fault.h"
#include "tools/load/object_guess.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

/// For values of columns that may be keys.
constexpr std::size_t kValueBytesMax = std::size_t{256} << 20U;
constexpr std::string_view kRowId = "row_id";

/// A copy of a chunk: its header is taken off, and the chunk is still to be read.
Chunk copy_of(const Chunk& chunk) {
  Chunk copy{.bytes = chunk.bytes,
             .file = chunk.file,
             .byte = chunk.byte,
             .line = chunk.line,
             .is_first = chunk.is_first,
             .is_last = chunk.is_last,
             .line_break = chunk.line_break};
  copy.memory = std::make_unique<char[]>(chunk.bytes + Chunk::kPaddingBytes);
  std::memcpy(copy.memory.get(), chunk.memory.get(), chunk.bytes);
  return copy;
}

bool is_control(char byte) noexcept {
  return static_cast<unsigned char>(byte) < 0x20 || byte == '\x7F';
}

/// So many bytes or fewer, without part of a character at the end.
std::string_view cut_to(std::string_view text, std::size_t bytes) noexcept {
  text = text.substr(0, bytes);
  while (!is_utf8(text) && !text.empty()) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

SchemaGuess::SchemaGuess(const Dialect& dialect, const GuessOptions& options,
                         const std::string& path)
    : dialect_(dialect), options_(options), path_(path) {}

void SchemaGuess::see(const Chunk& chunk) {
  if (dialect_.is_json()) {
    see_objects(chunk);
  } else if (chunk.is_first) {
    Chunk copy = copy_of(chunk);
    begin_file(copy);
    see_records(copy);
  } else {
    see_records(chunk);
  }
  limit_memory();
}

void SchemaGuess::begin_file(Chunk& chunk) {
  if (!has_begun_) {
    has_begun_ = true;
    begin_first_file(chunk);
    return;
  }
  if (has_header_) {
    static_cast<void>(take_header(chunk, dialect_, path_));
    return;
  }
  const auto again = first_record(chunk, dialect_);
  const bool is_header = again && std::ranges::equal(*again, first_, {}, {}, &FirstField::text);
  if (is_header && !first_.empty()) {
    static_cast<void>(take_header(chunk, dialect_, path_));
  }
}

void SchemaGuess::begin_first_file(Chunk& chunk) {
  set_names(options_.columns);
  if (options_.header == Header::off) {
    return;
  }
  if (options_.header == Header::automatic && !options_.unnamed_first) {
    hold_first(chunk);
    return;
  }
  has_header_ = true;
  std::vector<std::string> header = take_header(chunk, dialect_, path_);
  if (options_.unnamed_first) {
    header.emplace_back();
    std::ranges::rotate(header, header.end() - 1);
  }
  if (columns_.empty()) {
    set_names(std::move(header));
  }
}

/// The first record is put aside until the others say what it is.
void SchemaGuess::hold_first(Chunk& chunk) {
  RecordReader reader(dialect_, chunk.text(), chunk.is_last, RecordReader::Reads::fields);
  RawRecord record;
  if (!reader.next(record) || record.fault) {
    return;
  }
  std::vector<bool> quoted;
  quoted.reserve(record.fields.size());
  for (const RawField& field : record.fields) {
    quoted.push_back(field.quoted);
  }
  const std::vector<std::string> texts = take_header(chunk, dialect_, path_);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    first_.push_back({.text = texts[i], .quoted = quoted[i]});
  }
  if (columns_.empty()) {
    set_names(texts);
  }
  for (std::size_t i = 0; i < std::min(texts.size(), columns_.size()); ++i) {
    columns_[i].watch(texts[i]);
  }
}

void SchemaGuess::set_names(std::vector<std::string> names) {
  for (std::string& name : names) {
    columns_.emplace_back(std::move(name), dialect_.values);
  }
}

void SchemaGuess::see_records(const Chunk& chunk) {
  RecordReader reader(dialect_, chunk.text(), chunk.is_last, RecordReader::Reads::fields);
  RawRecord record;
  while (reader.next(record)) {
    if (record.fault) {
      note_fault(chunk, record.fault->at, record.fault->reason);
    } else {
      see_fields(record.fields, chunk, record.begin);
    }
  }
}

void SchemaGuess::see_fields(std::vector<RawField>& fields, const Chunk& chunk, std::size_t begin) {
  if (columns_.empty()) {
    const bool has_empty_end =
        dialect_.drops_empty_end && fields.size() > 1 && fields.back().text.empty();
    for (std::size_t i = 0; i + (has_empty_end ? 1 : 0) < fields.size(); ++i) {
      columns_.emplace_back(fmt::format("c{}", i + 1), dialect_.values);
    }
  }
  if (dialect_.drops_empty_end && fields.size() == columns_.size() + 1 &&
      fields.back().text.empty()) {
    fields.pop_back();
  }
  if (dialect_.blank_is_nothing && columns_.size() > 1 && fields.size() == 1 && !fields[0].quoted &&
      is_blank(fields[0].text)) {
    return;
  }
  const bool fits = fields.size() == columns_.size() ||
                    (dialect_.fill_missing && fields.size() < columns_.size());
  if (!fits) {
    note_fault(chunk, begin, fmt::format("{} fields, {} expected", fields.size(), columns_.size()));
    return;  // the load will tell
  }
  ++records_;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    see_field(columns_[i], fields[i]);
  }
  for (std::size_t i = fields.size(); i < columns_.size(); ++i) {
    columns_[i].see_null();
  }
}

void SchemaGuess::note_fault(const Chunk& chunk, std::size_t at, std::string_view reason) {
  if (!first_fault_.empty()) {
    return;
  }
  const std::string_view before = chunk.text().substr(0, at);
  const std::size_t line_begin = before.rfind(chunk.line_break) + 1;  // npos + 1 is 0
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(before, chunk.line_break));
  first_fault_ = fmt::format("{}:{}:{} (byte {}): {}", path_, chunk.line + lines,
                             at - line_begin + 1, chunk.byte + at, reason);
}

void SchemaGuess::see_field(ColumnGuess& column, const RawField& field) const {
  if (!field.escaped) {
    see_text(column, field.text, field.quoted);
    return;
  }
  std::string text(field.text);
  const bool is_null = !field.quoted && dialect_.null_rule == NullRule::escaped && text == "\\N";
  if (!is_null) {
    text.resize(unescape(dialect_, field, text.data()).text.size());
    column.see(text);
  } else {
    column.see_null();
  }
}

void SchemaGuess::see_text(ColumnGuess& column, std::string_view text, bool quoted) const {
  bool is_null = false;
  switch (dialect_.null_rule) {
    case NullRule::empty: is_null = text.empty(); break;
    case NullRule::text: is_null = dialect_.is_null_text(text); break;
    case NullRule::escaped: is_null = text == "\\N"; break;
  }
  if (is_null && !quoted) {
    column.see_null();
  } else {
    column.see(text);
  }
}

void SchemaGuess::see_objects(const Chunk& chunk) {
  const ObjectsSeen seen = load::see_objects(chunk, dialect_, records_, columns_);
  records_ += seen.objects;
  if (seen.first_fault) {
    note_fault(chunk, *seen.first_fault, "no JSON object");
  }
}

/// Columns to the right are the first that will not be keys.
void SchemaGuess::limit_memory() {
  const auto bytes = [&] {
    return std::accumulate(
        columns_.begin(), columns_.end(), std::size_t{0},
        [](std::size_t sum, const ColumnGuess& column) { return sum + column.value_bytes(); });
  };
  for (std::size_t i = columns_.size(); i > 0 && bytes() > kValueBytesMax; --i) {
    if (columns_[i - 1].value_bytes() != 0) {
      columns_[i - 1].forget_values();
    }
  }
}

HeaderVerdict SchemaGuess::verdict() const {
  std::vector<std::string> texts;
  texts.reserve(first_.size());
  for (const FirstField& field : first_) {
    texts.push_back(field.text);
  }
  if (records_ != 0) {
    return texts.size() == columns_.size() ? judge_header(texts, columns_) : HeaderVerdict::unknown;
  }
  for (const std::string& text : texts) {
    ColumnGuess alone("", dialect_.values);
    alone.see(text);
    if (alone.is_typed()) {
      return HeaderVerdict::record;
    }
  }
  return HeaderVerdict::unknown;
}

void SchemaGuess::decide_header() {
  if (first_.empty()) {
    guess_.header = options_.unnamed_first ? Header::on : options_.header;
    guess_.header = guess_.header == Header::automatic ? Header::off : guess_.header;
    return;
  }
  switch (verdict()) {
    case HeaderVerdict::header:
      guess_.header = Header::on;
      has_header_ = true;
      return;
    case HeaderVerdict::record: break;
    case HeaderVerdict::unknown:
      throw UsageError(fmt::format(
          "{}: nothing tells whether the first record, {}, names the columns: --header or "
          "--header=off says it",
          path_, in_quotes(first_.front().text)));
  }
  guess_.header = Header::off;
  ++records_;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (options_.columns.empty()) {
      columns_[i].rename(fmt::format("c{}", i + 1));
    }
    if (i < first_.size()) {
      see_text(columns_[i], first_[i].text, first_[i].quoted);
    }
  }
}

/// One that no column before has, and no other file's: by a number behind it.
std::string SchemaGuess::free_name(std::string_view wanted, std::size_t before) const {
  const auto is_taken = [&](std::string_view name) {
    return std::ranges::any_of(columns_, [&](const ColumnGuess& column) {
      const auto number = static_cast<std::size_t>(&column - columns_.data());
      return number != before && column.name() == name;
    });
  };
  for (std::size_t number = 2;; ++number) {
    const std::string end = fmt::format("_{}", number);
    const std::string name = std::string(cut_to(wanted, kNameBytesMax - end.size())) + end;
    if (!is_taken(name)) {
      return name;
    }
  }
}

std::string SchemaGuess::usable_name(std::size_t number) const {
  std::string name = columns_[number].name();
  if (name.empty() || is_blank(name)) {
    name = fmt::format("c{}", number + 1);
  }
  std::ranges::replace_if(name, is_control, '_');
  name = cut_to(name, kNameBytesMax);
  const auto before = std::span(columns_).first(number);
  const bool is_there = std::ranges::find(before, name, &ColumnGuess::name) != before.end();
  return is_there ? free_name(name, number) : name;
}

/// Only of a header: names that were given are judged by the table.
void SchemaGuess::make_usable() {
  if (!options_.columns.empty() || dialect_.is_json() || guess_.header == Header::off) {
    return;
  }
  std::vector<std::string> found;
  bool is_changed = options_.unnamed_first;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    found.push_back(columns_[i].name());
    const std::string name = usable_name(i);
    if (name != found.back()) {
      guess_.notes.push_back(
          found.back().empty()
              ? fmt::format("field {} has no name: column {}", i + 1, in_quotes(name))
              : fmt::format("field {} is called {}: column {}", i + 1, in_quotes(found.back()),
                            in_quotes(name)));
      columns_[i].rename(name);
      is_changed = true;
    }
  }
  if (!is_changed) {
    guess_.header = options_.header == Header::on ? Header::on : Header::match;
    return;
  }
  for (const ColumnGuess& column : columns_) {
    guess_.columns.push_back(column.name());
  }
  found.erase(found.begin(), found.begin() + (options_.unnamed_first ? 1 : 0));
  guess_.first_header = std::move(found);
}

void SchemaGuess::refuse_empty() const {
  if (!first_fault_.empty()) {
    throw UsageError(fmt::format("{}: and no record of the sample is whole", first_fault_));
  }
  throw UsageError(fmt::format(
      "{}: there are no records to choose a schema by; --schema makes a table without them",
      path_));
}

GuessedTable SchemaGuess::finish() {
  if (records_ == 0 && first_.empty()) {
    refuse_empty();
  }
  if (records_ == 0 && (!first_fault_.empty() || verdict() != HeaderVerdict::record)) {
    refuse_empty();
  }
  decide_header();
  make_usable();
  TableSchema& table = guess_.definition.table;
  table.name = options_.table;
  table.key = options_.key.empty() ? choose_key() : options_.key;
  for (const ColumnGuess& column : columns_) {
    if (!column.name().empty()) {
      table.columns.push_back({.name = column.name(), .type = column.type()});
    }
    guess_.keeps_nested = guess_.keeps_nested || column.has_nested() || column.is_mixed();
  }
  if (!guess_.row_id.empty()) {
    table.columns.push_back({.name = guess_.row_id, .type = types::int64()});
    std::ranges::rotate(table.columns, table.columns.end() - 1);
  }
  try {
    table.validate();
  } catch (const Error& error) {
    throw UsageError(fmt::format("the schema that the data suggests is none: {}", error.what()));
  }
  return std::move(guess_);
}

std::vector<std::string> SchemaGuess::choose_key() {
  const auto is_exact = [](const ColumnGuess& column) {
    return column.may_be_key() && column.type().type != ColumnType::float64 &&
           !column.name().empty();
  };
  const auto found = std::ranges::find_if(columns_, is_exact);
  if (options_.row_id.empty() && found != columns_.end()) {
    return {found->name()};
  }
  guess_.row_id = options_.row_id;
  if (guess_.row_id.empty()) {
    const bool is_taken = std::ranges::find(columns_, kRowId, &ColumnGuess::name) != columns_.end();
    guess_.row_id = is_taken ? free_name(kRowId, columns_.size()) : std::string(kRowId);
    guess_.notes.push_back(fmt::format(
        "no column has different values in all records: column {} counts the rows, and is the key",
        in_quotes(guess_.row_id)));
  }
  return {guess_.row_id};
}

GuessedTable guess_schema(const Chunk& sample, const Dialect& dialect, const std::string& path,
                          const GuessOptions& options) {
  SchemaGuess guess(dialect, options, path);
  guess.see(sample);
  return guess.finish();
}

}  // namespace palimpsest::load
