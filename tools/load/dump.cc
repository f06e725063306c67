#include "tools/load/dump.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/column_plan.h"
#include "tools/load/fault.h"
#include "tools/load/interrupt.h"
#include "tools/load/key_range.h"
#include "tools/load/row_text.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
constexpr std::size_t kRowsAhead = 1024;

std::vector<std::size_t> columns_of(const TableSchema& table,
                                    const std::vector<std::string>& names) {
  std::vector<std::size_t> columns;
  for (const std::string& name : names) {
    const auto column = table.find_column(name);
    if (!column) {
      throw UsageError(
          fmt::format("table {} has no column {}", in_quotes(table.name), in_quotes(name)));
    }
    columns.push_back(*column);
  }
  for (std::size_t i = 0; names.empty() && i < table.columns.size(); ++i) {
    columns.push_back(i);
  }
  return columns;
}

}  // namespace

std::uint64_t dump_rows(const Table& table, const Transaction& in, const DumpText& text,
                        const std::function<std::FILE*()>& open, const std::string& output) {
  const TableSchema schema = table.schema();
  RowText rows(schema, text.dialect, columns_of(schema, text.columns));
  const std::optional<KeyRange> keys =
      text.keys.empty() ? std::nullopt : std::optional<KeyRange>(std::in_place, schema, text.keys);
  std::string lines;
  if (text.header) {
    rows.append_header(lines);
  }
  Cursor cursor = table.cursor(in, keys ? keys->range() : Range::all(), kRowsAhead);
  const auto out = TextOutput::make(open(), output, text.compression);
  std::uint64_t count = 0;
  for (; cursor.valid(); cursor.next()) {
    rows.append(cursor.row(), lines);
    ++count;
    if (lines.size() >= kBufferBytes) {
      stop_if_interrupted();
      out->write(lines);
      lines.clear();
    }
  }
  rows.append_end(lines);
  out->write(lines);
  out->finish();
  return count;
}

std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open) {
  Database database = open_to_read(options.database, options.memory_bytes);
  const Table table = database.table(options.table);
  if (options.schema_only) {
    const auto out = TextOutput::make(open(), options.output, options.text.compression);
    out->write(text_of(TableText{.table = table.schema(), .indexes = table.indexes()}) + "\n");
    out->finish();
    return 0;
  }
  const Transaction transaction =
      database.begin({.isolation = Isolation::snapshot, .read_only = true});
  return dump_rows(table, transaction, options.text, open, options.output);
}

}  // namespace palimpsest::load
