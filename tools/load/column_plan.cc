#include "tools/load/column_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tools/load/fault.h"
#include "tools/load/record_reader.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

std::string text_of_columns(const TableSchema& table) {
  std::string text;
  for (const ColumnDefinition& column : table.columns) {
    text += (text.empty() ? "" : ", ") + in_quotes(column.name);
  }
  return text;
}

std::size_t require_column(const TableSchema& table, const std::string& name) {
  const auto number = table.find_column(name);
  if (!number) {
    throw UsageError(fmt::format("table {} has no column {}; it has {}", in_quotes(table.name),
                                 in_quotes(name), text_of_columns(table)));
  }
  return *number;
}

constexpr std::string_view kNoUtf8 =
    "it is no UTF-8: --encoding says what the file is in, as latin1 or windows-1252";

struct HeaderLine {
  std::vector<std::string> names{};
  std::string text{};
  std::size_t bytes = 0;            ///< with what is skipped before it
  std::uint64_t skipped_lines = 0;  ///< before it
};

/// Takes the header line off a chunk.
void drop(Chunk& chunk, const HeaderLine& header) {
  const std::size_t bytes = header.bytes;
  chunk.line += static_cast<std::uint64_t>(
      std::ranges::count(chunk.text().substr(0, bytes), chunk.line_break));
  chunk.byte += bytes;
  chunk.bytes -= bytes;
  chunk.skipped_lines += header.skipped_lines;
  std::memmove(chunk.memory.get(), chunk.memory.get() + bytes, chunk.bytes + Chunk::kPaddingBytes);
}

HeaderLine header_of(const Chunk& chunk, const Dialect& dialect, const std::string& path) {
  RecordReader records(dialect, chunk.text(), chunk.is_last, RecordReader::Reads::fields);
  RawRecord record;
  if (!records.next(record)) {
    throw UsageError(
        fmt::format("{}: there is no header line; --header=off is for files without one", path));
  }
  if (record.fault) {
    throw UsageError(fmt::format("{}: the header line is none: {}", path, record.fault->reason));
  }
  std::vector<std::string> names;
  for (const RawField& field : record.fields) {
    std::string name(field.text);
    if (field.escaped) {
      const Unescaped meant = unescape(dialect, field, name.data());
      if (!meant.reason.empty()) {
        throw UsageError(fmt::format("{}: the header line is none: {}", path, meant.reason));
      }
      name.resize(meant.text.size());
    }
    if (dialect.checks_utf8 && !is_utf8(name)) {
      throw UsageError(fmt::format("{}: the header names {}: {}", path, in_quotes(name), kNoUtf8));
    }
    names.push_back(std::move(name));
  }
  if (dialect.format == Format::tbl && names.size() > 1 && names.back().empty()) {
    names.pop_back();
  }
  return {.names = std::move(names),
          .text = std::string(chunk.text().substr(record.begin, record.end - record.begin)),
          .bytes = records.position(),
          .skipped_lines = records.skipped_lines()};
}

/// What has no name would be lost without a word.
void require_names(const std::vector<std::string>& header) {
  const auto nameless = std::ranges::find(header, std::string());
  if (nameless != header.end()) {
    throw UsageError(fmt::format("field {} has no name; --columns can leave fields out",
                                 nameless - header.begin() + 1));
  }
}

}  // namespace

ColumnPlan plan_of(const TableSchema& table, std::span<const std::string> names,
                   const PlanOptions& options) {
  ColumnPlan plan;
  std::vector<bool> named(table.columns.size(), names.empty());
  if (!options.numbered.empty()) {
    plan.numbered = require_column(table, options.numbered);
  }
  for (std::size_t i = 0; names.empty() && i < table.columns.size(); ++i) {
    if (plan.numbered != i) {
      plan.columns.push_back(i);
    }
  }
  for (const std::string& name : names) {
    const bool is_unknown = options.ignore_unknown && !table.find_column(name);
    if (name.empty() || is_unknown) {
      plan.columns.push_back(ColumnPlan::kIgnored);
      continue;
    }
    const std::size_t column = require_column(table, name);
    if (plan.numbered == column) {
      throw UsageError(fmt::format("column {} is named, and counts the rows", in_quotes(name)));
    }
    if (named[column]) {
      throw UsageError(fmt::format("column {} is named twice", in_quotes(name)));
    }
    named[column] = true;
    plan.columns.push_back(column);
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i] || plan.numbered == i) {
      continue;
    }
    if (!table.columns[i].type.nullable) {
      throw UsageError(fmt::format("column {} is not named, and is never null",
                                   in_quotes(table.columns[i].name)));
    }
    plan.absent.push_back(i);
  }
  return plan;
}

std::string header_text(const Chunk& chunk, const Dialect& dialect, const std::string& path) {
  return header_of(chunk, dialect, path).text;
}

std::optional<std::vector<std::string>> first_record(const Chunk& chunk, const Dialect& dialect) {
  try {
    return header_of(chunk, dialect, "").names;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::vector<std::string> take_header(Chunk& chunk, const Dialect& dialect,
                                     const std::string& path) {
  HeaderLine header = header_of(chunk, dialect, path);
  drop(chunk, header);
  return std::move(header.names);
}

ColumnPlanner::ColumnPlanner(const TableSchema& table, const Dialect& dialect, Header header,
                             std::vector<std::string> columns, std::string numbered)
    : table_(table),
      dialect_(dialect),
      header_(header),
      columns_(std::move(columns)),
      options_{.numbered = std::move(numbered), .ignore_unknown = dialect.ignore_unknown} {
  if (header == Header::match && !columns_.empty()) {
    throw UsageError("--columns and --header=match both say which field is which column");
  }
  if (dialect.is_json() && (header != Header::off || !columns_.empty())) {
    throw UsageError(
        "JSON has neither a header line nor --columns: members have names; --ignore-unknown leaves "
        "out those that the table has no column for");
  }
}

/// A header that names all columns in another order would be meant to be matched.
void ColumnPlanner::check_order(const std::vector<std::string>& names) const {
  const bool are_columns = std::ranges::all_of(
      names, [&](const std::string& name) { return table_.find_column(name).has_value(); });
  if (!are_columns || !columns_.empty() || !options_.numbered.empty()) {
    return;
  }
  for (std::size_t i = 0; i < std::min(names.size(), table_.columns.size()); ++i) {
    if (names[i] != table_.columns[i].name) {
      throw UsageError(
          fmt::format("the header names {} where the table has {}: --header=match "
                      "takes the fields as the header names them",
                      in_quotes(names[i]), in_quotes(table_.columns[i].name)));
    }
  }
}

ColumnPlan ColumnPlanner::plan_by(const std::vector<std::string>& header,
                                  const std::string& path) const {
  try {
    check_required(header);
    if (header_ == Header::match) {
      if (!options_.ignore_unknown) {
        require_names(header);
      }
      return plan_of(table_, header, options_);
    }
    check_order(header);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: the header: {}", path, error.what()));
  }
  return plan_of(table_, columns_, {.numbered = options_.numbered});
}

/// Fields are what they are in the first file: another header would be of other ones.
void ColumnPlanner::check_required(const std::vector<std::string>& header) const {
  if (required_.empty() || header == required_) {
    return;
  }
  throw UsageError("it is not that of the first file, some of whose names were made: --columns");
}

std::shared_ptr<const ColumnPlan> ColumnPlanner::begin_file(Chunk& chunk,
                                                            const std::string& path) const {
  if (header_ == Header::off) {
    return std::make_shared<const ColumnPlan>(
        plan_of(table_, columns_, {.numbered = options_.numbered}));
  }
  const HeaderLine header = header_of(chunk, dialect_, path);
  drop(chunk, header);
  ColumnPlan plan = plan_by(header.names, path);
  plan.header = header.text;
  return std::make_shared<const ColumnPlan>(std::move(plan));
}

void ColumnPlanner::check_file(const Chunk& chunk, const std::string& path) const {
  static_cast<void>(header_ == Header::off
                        ? plan_of(table_, columns_, {.numbered = options_.numbered})
                        : plan_by(header_of(chunk, dialect_, path).names, path));
}

}  // namespace palimpsest::load
