#include "tools/load/batch_writer.h"

#include <utility>

#include "palimpsest/error.h"

namespace palimpsest::load {

BatchWriter::BatchWriter(const TableSchema& table, const ValueRules& rules,
                         std::unique_ptr<RowCoder> coder)
    : table_(table), rules_(rules), coder_(std::move(coder)), values_(table.columns.size()) {}

void BatchWriter::begin(Chunk chunk) {
  batch_ = RowBatch();
  batch_.chunk = std::move(chunk);
  batch_.rows.reserve(rows_size_ + rows_size_ / 8);
  batch_.records.reserve(records_size_ + records_size_ / 8);
}

RowBatch BatchWriter::end(std::uint64_t skipped_lines) {
  rows_size_ = batch_.rows.size();
  records_size_ = batch_.records.size();
  batch_.skipped_lines = batch_.chunk.skipped_lines + skipped_lines;
  return std::move(batch_);
}

void BatchWriter::begin_record(std::size_t begin, std::size_t end, std::uint64_t line) {
  record_ = {.begin = begin, .end = end, .line = line};
  arena_.clear();
}

/// make() adds a row, or throws why the values make none.
template <class Make>
void BatchWriter::add_or_refuse(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) {
      throw;
    }
    add_fault({.kind = FaultKind::range,
               .at = batch_.position(record_, record_.begin),
               .reason = error.what()});
  }
}

void BatchWriter::end_row() {
  if (coder_ == nullptr) {
    batch_.records.push_back(record_);
    return;
  }
  add_or_refuse([&] {
    const EncodedRow& row = coder_->row_of(values_);
    const std::size_t at = batch_.rows.size();
    batch_.rows.append(row.key).append(row.bytes);
    add_row(at, row.key.size(), row.bytes.size());
  });
}

void BatchWriter::end_row(RowWriter& row) {
  add_or_refuse([&] {
    const std::size_t row_bytes = row.end();
    if (coder_ == nullptr) {
      row.drop();
      batch_.records.push_back(record_);
      return;
    }
    add_row(batch_.rows.size() - row_bytes - row.key_bytes(), row.key_bytes(), row_bytes);
  });
}

void BatchWriter::add_row(std::size_t row, std::size_t key_bytes, std::size_t row_bytes) {
  record_.row = row;
  record_.key_bytes = key_bytes;
  record_.row_bytes = row_bytes;
  batch_.records.push_back(record_);
}

void BatchWriter::end_fault(FaultKind kind, std::size_t at, std::size_t column,
                            std::string_view reason, std::string_view value) {
  add_fault({.kind = kind,
             .at = batch_.position(record_, at),
             .column = column == BatchRecord::kNone ? std::string() : table_.columns[column].name,
             .reason = std::string(reason),
             .shown = kind == FaultKind::null ? std::string() : in_quotes(value)});
}

void BatchWriter::add_fault(Fault fault) {
  record_.fault = batch_.faults.size();
  batch_.faults.push_back(std::move(fault));
  batch_.records.push_back(record_);
}

ValueFault null_fault() {
  return {.kind = FaultKind::null, .reason = "no value, and the column is never null"};
}

}  // namespace palimpsest::load
