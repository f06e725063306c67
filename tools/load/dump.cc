#include "tools/load/dump.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>

#include "palimpsest/database.h"
#include "palimpsest/error.h"

#include "tools/load/column_plan.h"
#include "tools/load/fault.h"
#include "tools/load/interrupt.h"
#include "tools/load/row_text.h"
#include "tools/load/schema_text.h"
#include "tools/load/system_error.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
constexpr std::size_t kRowsAhead = 1024;

void write(std::FILE* out, std::string& text, const std::string& name) {
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size()) {
    refuse_to_write(name, errno);
  }
  text.clear();
}

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

std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open) {
  Database database = open_to_read(options.database);
  const Table table = database.table(options.table);
  const TableSchema schema = table.schema();
  std::string text;
  if (options.schema_only) {
    text = text_of(TableText{.table = schema, .indexes = table.indexes()}) + "\n";
    write(open(), text, options.output);
    return 0;
  }
  RowText rows(schema, options.dialect, columns_of(schema, options.columns));
  if (options.header) {
    rows.append_header(text);
  }
  const Transaction transaction =
      database.begin({.isolation = Isolation::snapshot, .read_only = true});
  std::uint64_t count = 0;
  Cursor cursor = table.cursor(transaction, Range::all(), kRowsAhead);
  std::FILE* const out = open();
  for (; cursor.valid(); cursor.next()) {
    rows.append(cursor.row(), text);
    ++count;
    if (text.size() >= kBufferBytes) {
      stop_if_interrupted();
      write(out, text, options.output);
    }
  }
  write(out, text, options.output);
  return count;
}

}  // namespace palimpsest::load
