#include "tools/load/load_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "tools/load/fault.h"
#include "tools/load/file_guess.h"
#include "tools/load/interrupt.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

/// How columns are called that count the rows, if nothing else says it.
constexpr std::string_view kRowId = "row_id";
/// Of a file whose schema is known: for delimiters and headers.
constexpr std::size_t kBeginningBytes = std::size_t{64} << 10U;

bool equal_in_any_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool has_column(const TableSchema& table, std::string_view name) {
  return std::ranges::any_of(table.columns, [&](const ColumnDefinition& column) {
    return equal_in_any_case(column.name, name);
  });
}

/// Whether half of the fields or more name columns of the table.
bool names_columns(const std::vector<std::string>& fields, const TableSchema& table) {
  const auto named = std::ranges::count_if(
      fields, [&](const std::string& field) { return has_column(table, field); });
  return named != 0 && static_cast<std::size_t>(named) * 2 >= fields.size();
}

/// Whether the table's key is a column that a load has made.
bool counts_rows(const TableSchema& table) {
  if (table.key.size() != 1 || !table.key[0].starts_with(kRowId)) {
    return false;
  }
  const auto column = table.find_column(table.key[0]);
  return column && table.columns[*column].type.type == ColumnType::int64;
}

}  // namespace

LoadInput::LoadInput(const LoadOptions& options, Counters& counters)
    : counters_(counters), files_(options.files, options.input, counters.bytes_taken) {}

std::optional<TableText> LoadInput::find(const TableText* known, LoadOptions& options) {
  find_dialect(known, options);
  files_.set_json(options.dialect.format == Format::json);
  if (known != nullptr) {
    open_reader(options, ChunkReader::kFirstBytes);
    static_cast<void>(reader_->look_ahead());
    find_header(*known, options);
    return std::nullopt;
  }
  return choose(options);
}

void LoadInput::find_dialect(const TableText* known, LoadOptions& options) {
  const std::size_t wanted = known != nullptr
                                 ? kBeginningBytes
                                 : std::max<std::uint64_t>(options.sample_bytes, kBeginningBytes);
  const std::string_view text = files_.peek(wanted);
  std::optional<std::size_t> columns;
  if (!options.columns.empty()) {
    columns = options.columns.size();
  } else if (known != nullptr) {
    columns = known->table.columns.size();
  }
  ToldDialect told = options.told;
  told.header = options.header == Header::off;
  FileGuess found = guess_file({.text = text,
                                .is_whole = text.size() < wanted,
                                .path = options.files.front(),
                                .columns = columns},
                               options.dialect, told);
  if (known != nullptr) {
    found.dialect.no_escapes_seen = false;
  }
  options.dialect = std::move(found.dialect);
  unnamed_first_ = found.unnamed_first && known == nullptr && options.columns.empty();
  notes_ = std::move(found.notes);
}

void LoadInput::open_reader(const LoadOptions& options, std::size_t chunk_bytes) {
  reader_.emplace(options.files, options.dialect, counters_.bytes_taken, chunk_bytes,
                  [this](std::size_t file) { return files_.open(file); });
}

void LoadInput::find_header(const TableText& known, LoadOptions& options) {
  const bool is_json = options.dialect.is_json();
  const auto first = is_json ? std::nullopt : first_record(*reader_->look_ahead(), options.dialect);
  if (options.header == Header::automatic) {
    options.header = Header::off;
    if (first && options.columns.empty() && names_columns(*first, known.table)) {
      options.header = Header::match;
    } else if (first && *first == options.columns) {
      options.header = Header::on;
    }
  }
  find_row_id(known, first ? &*first : nullptr, options);
}

/// More rows of a table that an earlier load has given a key.
void LoadInput::find_row_id(const TableText& known, const std::vector<std::string>* first,
                            LoadOptions& options) {
  if (!options.row_id.empty() || !options.columns.empty() || !counts_rows(known.table)) {
    return;
  }
  const std::string& key = known.table.key[0];
  const bool is_missing =
      options.dialect.is_json()
          ? false
          : first != nullptr &&
                (options.header == Header::match ? std::ranges::find(*first, key) == first->end()
                                                 : first->size() + 1 == known.table.columns.size());
  if (is_missing) {
    options.row_id = key;
    notes_.push_back(fmt::format("column {} goes on counting the rows", in_quotes(key)));
  }
}

TableText LoadInput::choose(LoadOptions& options) {
  const GuessOptions guess{.table = options.table,
                           .header = options.dialect.is_json() ? Header::off : options.header,
                           .columns = options.columns,
                           .key = options.primary_key,
                           .row_id = options.row_id,
                           .unnamed_first = unnamed_first_};
  options.dialect.values.exact = true;
  const bool is_by_all = options.sample_bytes == 0;
  GuessedTable found = is_by_all ? guess_by_all(options, guess) : guess_by_sample(options, guess);
  options.header = found.header;
  options.columns = found.columns.empty() ? options.columns : found.columns;
  options.row_id = found.row_id;
  required_header_ = std::move(found.first_header);
  notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
  if (found.keeps_nested && !options.dialect.keep_nested) {
    options.dialect.keep_nested = true;
    notes_.emplace_back("columns of text take objects, arrays, numbers, true and false as JSON");
  }
  if (is_by_all) {
    open_reader(options, ChunkReader::kFirstBytes);
    static_cast<void>(reader_->look_ahead());
  }
  return std::move(found.definition);
}

/// The sample grows until it has a record.
GuessedTable LoadInput::guess_by_sample(const LoadOptions& options, const GuessOptions& guess) {
  open_reader(options, options.sample_bytes);
  for (;;) {
    const Chunk& sample = *reader_->look_ahead();
    SchemaGuess schema(options.dialect, guess, options.files.front());
    schema.see(sample);
    if (schema.records() != 0 || !reader_->look_further_ahead()) {
      is_by_sample_ = !sample.is_last || options.files.size() > 1;
      return schema.finish();
    }
  }
}

GuessedTable LoadInput::guess_by_all(const LoadOptions& options, const GuessOptions& guess) {
  if (!files_.can_be_read_again()) {
    throw UsageError(
        "--sample all, and --resume without a schema, are for files: a pipe is read "
        "but once");
  }
  std::atomic<std::uint64_t> not_counted = 0;
  ChunkReader all(options.files, options.dialect, not_counted, ChunkReader::kChunkBytes,
                  [&](std::size_t file) { return files_.open(file, not_counted); });
  SchemaGuess schema(options.dialect, guess, options.files.front());
  while (const std::optional<Chunk> chunk = all.next()) {
    stop_if_interrupted();
    schema.see(*chunk);
  }
  return schema.finish();
}

}  // namespace palimpsest::load
