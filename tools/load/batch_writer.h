// What parsers of all formats do with a batch: rows, faults and their places are added to it.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/load/row_parser.h"
#include "tools/load/value_text.h"

namespace palimpsest::load {

/// How much batches hold, so that the next one need not grow.
struct BatchSize {
  std::size_t values = 0;
  std::size_t records = 0;
};

class BatchWriter {
 public:
  /// `size` is that of the batch before, and becomes that of this one when it ends.
  BatchWriter(const TableSchema& table, RowBatch& batch, BatchSize& size);
  void end() { size_ = {.values = batch_.values.size(), .records = batch_.records.size()}; }

  /// Begins a record, with values of its row, all null. Offsets are those in the chunk.
  std::span<Value> begin(std::size_t begin, std::size_t end, std::uint64_t line);
  /// The record is a row.
  void end_row();
  /// The record is none: its values are given up. `column` is its number, or kNone.
  void end_fault(FaultKind kind, std::size_t at, std::size_t column, std::string_view reason,
                 std::string_view value);

  /// What a text, which lives as long as the batch, is in a column.
  [[nodiscard]] std::optional<ValueFault> parse(std::size_t column, std::string_view text,
                                                BytesText bytes, Value& value) {
    return parse_value(table_.columns[column].type, text, bytes, batch_.arena, value);
  }

 private:
  const TableSchema& table_;
  RowBatch& batch_;
  BatchSize& size_;
  BatchRecord record_{};
  std::size_t rows_ = 0;
};

/// That a column gets no value which is never null.
[[nodiscard]] ValueFault null_fault();

}  // namespace palimpsest::load
