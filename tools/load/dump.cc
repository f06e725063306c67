#include "tools/load/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "palimpsest/error.h"

#include "tools/load/column_plan.h"
#include "tools/load/dump_blocks.h"
#include "tools/load/fault.h"
#include "tools/load/key_range.h"
#include "tools/load/row_text.h"
#include "tools/load/schema_text.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {
namespace {

constexpr std::uint64_t kOutsideBytes = std::uint64_t{32} << 20U;

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

std::uint64_t database_bytes_of(std::uint64_t memory_bytes) noexcept {
  const std::uint64_t all = memory_bytes != 0 ? memory_bytes : kDumpMemoryBytes;
  return std::max(all / 2, all - std::min(all, kOutsideBytes));
}

std::uint64_t dump_rows(Database& database, const Table& table, const DumpText& text,
                        std::size_t threads, const std::function<std::FILE*()>& open,
                        const std::string& output) {
  const TableSchema schema = table.schema();
  const std::vector<std::size_t> columns = columns_of(schema, text.columns);
  const auto make_text = [&] { return std::make_unique<RowText>(schema, text.dialect, columns); };
  const std::unique_ptr<RowText> ends = make_text();
  const std::optional<KeyRange> keys =
      text.keys.empty() ? std::nullopt : std::optional<KeyRange>(std::in_place, schema, text.keys);
  const Range range = keys ? keys->range() : Range::all();
  const auto out = TextOutput::make(open(), output, text.compression);
  std::string line;
  if (text.header) {
    ends->append_header(line);
    out->write(line);
  }
  const std::uint64_t rows = DumpBlocks(database, table, range, make_text, *out).write_all(threads);
  line.clear();
  ends->begin_block(rows != 0);
  ends->append_end(line);
  out->write(line);
  out->finish();
  return rows;
}

std::uint64_t run_dump(const DumpOptions& options, const std::function<std::FILE*()>& open) {
  Database database = open_to_read(options.database, database_bytes_of(options.memory_bytes));
  const Table table = database.table(options.table);
  if (options.schema_only) {
    const auto out = TextOutput::make(open(), options.output, options.text.compression);
    out->write(text_of(TableText{.table = table.schema(), .indexes = table.indexes()}) + "\n");
    out->finish();
    return 0;
  }
  return dump_rows(database, table, options.text, options.threads, open, options.output);
}

}  // namespace palimpsest::load
