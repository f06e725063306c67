#include "tools/load/row_parser.h"

#include <algorithm>
#include <utility>

#include "tools/load/delimited_rows.h"
#include "tools/load/json_rows.h"

namespace palimpsest::load {

Position RowBatch::position(const BatchRecord& record, std::size_t at) const {
  const std::string_view before = chunk.text().substr(record.begin, at - record.begin);
  const std::size_t newline = before.rfind(chunk.line_break);
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = record.line +
                  static_cast<std::uint64_t>(std::ranges::count(before, chunk.line_break)),
          .column = before.size() - line_begin + 1,
          .byte = chunk.byte + at};
}

std::unique_ptr<RowParser> RowParser::make(const TableSchema& table, const Dialect& dialect,
                                           std::unique_ptr<RowCoder> coder) {
  if (dialect.is_json()) {
    return make_json_rows(table, dialect, std::move(coder));
  }
  return make_delimited_rows(table, dialect, std::move(coder));
}

}  // namespace palimpsest::load
