#include "tools/load/row_parser.h"

#include <algorithm>

#include "tools/load/batch_writer.h"
#include "tools/load/delimited_rows.h"
#include "tools/load/json_rows.h"

namespace palimpsest::load {

Position RowBatch::position(const BatchRecord& record, std::size_t at) const {
  const std::string_view before = chunk.text().substr(record.begin, at - record.begin);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = record.line + static_cast<std::uint64_t>(std::ranges::count(before, '\n')),
          .column = before.size() - line_begin + 1,
          .byte = chunk.byte + at};
}

std::unique_ptr<RowParser> RowParser::make(const TableSchema& table, const Dialect& dialect) {
  if (dialect.format == Format::jsonl) {
    return make_json_rows(table, dialect);
  }
  return make_delimited_rows(table, dialect);
}

BatchWriter::BatchWriter(const TableSchema& table, RowBatch& batch, BatchSize& size)
    : table_(table), batch_(batch), size_(size) {
  batch.column_count = table.columns.size();
  batch.values.reserve(size.values + size.values / 8);
  batch.records.reserve(size.records + size.records / 8);
}

std::span<Value> BatchWriter::begin(std::size_t begin, std::size_t end, std::uint64_t line) {
  record_ = {.begin = begin, .end = end, .line = line};
  const std::size_t first = rows_ * batch_.column_count;
  batch_.values.resize(first + batch_.column_count);
  return std::span(batch_.values).subspan(first);
}

void BatchWriter::end_row() {
  record_.row = rows_++;
  batch_.records.push_back(record_);
}

void BatchWriter::end_fault(FaultKind kind, std::size_t at, std::size_t column,
                            std::string_view reason, std::string_view value) {
  record_.fault = batch_.faults.size();
  batch_.faults.push_back(
      {.kind = kind,
       .at = batch_.position(record_, at),
       .column = column == BatchRecord::kNone ? std::string() : table_.columns[column].name,
       .reason = std::string(reason),
       .shown = kind == FaultKind::null ? std::string() : in_quotes(value)});
  batch_.records.push_back(record_);
  batch_.values.resize(rows_ * batch_.column_count);
}

ValueFault null_fault() {
  return {.kind = FaultKind::null, .reason = "no value, and the column is never null"};
}

}  // namespace palimpsest::load
