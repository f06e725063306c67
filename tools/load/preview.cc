#include "tools/load/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/column_plan.h"
#include "tools/load/database_place.h"
#include "tools/load/load_input.h"
#include "tools/load/row_parser.h"
#include "tools/load/schema_text.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kRowsShown = 5;
constexpr std::size_t kValueBytesShown = 24;

/// Keeps the texts of the first rows' values.
class FirstValues : public RowCoder {
 public:
  explicit FirstValues(std::vector<std::string>& columns) : columns_(columns) {}

  EncodedRow row_of(std::span<const Value> values) override {
    for (std::size_t i = 0; rows_ < kRowsShown && i < values.size(); ++i) {
      columns_[i] += (rows_ == 0 ? "" : ", ") + text_of(values[i]);
    }
    ++rows_;
    return EncodedRow::of("", "");
  }

 private:
  static std::string text_of(const Value& value) {
    if (value.kind() != ValueKind::bytes) {
      return value.text();
    }
    const std::string_view text = value.as_bytes();
    const bool is_long = text.size() > kValueBytesShown;
    return in_quotes(text.substr(0, kValueBytesShown)) + (is_long ? "..." : "");
  }

  std::vector<std::string>& columns_;
  std::size_t rows_ = 0;
};

std::optional<TableText> known_table(const LoadOptions& options) {
  if (options.schema) {
    return parse_schema(*options.schema, options.table);
  }
  std::optional<Database> database = find_database(options.database, {.read_only = true});
  const auto table = database ? database->find_table(options.table) : std::nullopt;
  return table ? std::optional(TableText{.table = table->schema(), .indexes = table->indexes()})
               : std::nullopt;
}

std::string table_text(const TableSchema& table, const std::vector<std::string>& values) {
  std::vector<std::pair<std::string, std::string>> heads{{"column", "type"}};
  for (const ColumnDefinition& column : table.columns) {
    const bool in_key = std::ranges::find(table.key, column.name) != table.key.end();
    heads.emplace_back(name_text_of(column.name),
                       type_text_of(column.type) + (in_key ? " (key)" : ""));
  }
  std::size_t name_width = 0;
  std::size_t type_width = 0;
  for (const auto& [name, type] : heads) {
    name_width = std::max(name_width, name.size());
    type_width = std::max(type_width, type.size());
  }
  std::string text;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", heads[i].first, name_width, heads[i].second,
                        type_width, i == 0 ? "first values" : values[i - 1]);
  }
  return text;
}

}  // namespace

std::string run_preview(const LoadOptions& options,
                        const std::function<void(const LoadFindings&)>& found) {
  LoadOptions taken = options;
  Counters counters;
  std::optional<TableText> table = known_table(options);
  LoadInput input(options, counters);
  const auto chosen = input.find(table ? &*table : nullptr, taken);
  table = chosen ? chosen : table;
  found({.options = taken,
         .schema = chosen ? load::text_of(*table) : std::string(),
         .notes = input.notes()});
  ColumnPlanner planner(table->table, taken.dialect, taken.header, taken.columns, taken.row_id);
  planner.require_header(input.required_header());
  std::optional<Chunk> chunk = input.reader().next();
  const auto plan = planner.begin_file(*chunk, options.files.front());
  std::vector<std::string> values(table->table.columns.size());
  const auto parser =
      RowParser::make(table->table, taken.dialect, std::make_unique<FirstValues>(values));
  const RowBatch batch = parser->parse({.chunk = *std::move(chunk), .plan = plan});
  if (!batch.faults.empty()) {
    Fault fault = batch.faults.front();
    fault.at.file = options.files.front();
    throw Error(ErrorCode::invalid_argument, fault.text());
  }
  return table_text(table->table, values);
}

}  // namespace palimpsest::load
