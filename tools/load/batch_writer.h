// What parsers of all formats do with a batch: rows, faults and their places are added to it.
//
// Thread-safety: belongs to one thread. Failure: what the coder throws, but for values that make no
// row, which are a fault; then begin() begins anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "palimpsest/row_writer.h"
#include "palimpsest/value.h"

#include "tools/load/row_parser.h"
#include "tools/load/text_arena.h"
#include "tools/load/value_rules.h"

namespace palimpsest::load {

class BatchWriter {
 public:
  /// Both outlive it.
  BatchWriter(const TableSchema& table, const ValueRules& rules, std::unique_ptr<RowCoder> coder);

  /// Begins a batch.
  void begin(Chunk chunk);
  [[nodiscard]] const Chunk& chunk() const noexcept { return batch_.chunk; }
  /// The batch has all its records.
  [[nodiscard]] RowBatch end(std::uint64_t skipped_lines);

  /// Begins a record. Offsets are those in the chunk.
  void begin_record(std::size_t begin, std::size_t end, std::uint64_t line);
  /// Of its row, to be set: they are those of the record before.
  [[nodiscard]] std::span<Value> values() noexcept { return values_; }
  /// The record is a row, if its values make one.
  void end_row();
  /// Or it is the row that was begun since then, which a writer has written to rows().
  void end_row(RowWriter& row);
  [[nodiscard]] std::string& rows() noexcept { return batch_.rows; }
  /// The record is none. `column` is its number, or kNone.
  void end_fault(FaultKind kind, std::size_t at, std::size_t column, std::string_view reason,
                 std::string_view value);

  /// What was said last.
  [[nodiscard]] Fault& last_fault() noexcept { return batch_.faults.back(); }

  /// What a text is in a column; it lives as long as the record.
  [[nodiscard]] std::optional<ValueFault> parse(std::size_t column, std::string_view text,
                                                BytesText bytes, Value& value) {
    return parse_by(rules_, table_.columns[column].type, text, bytes, arena_, value);
  }
  /// Memory for such a text.
  [[nodiscard]] std::span<char> take(std::size_t bytes) { return arena_.take(bytes); }

 private:
  template <class Make>
  void add_or_refuse(const Make& make);
  void add_row(std::size_t row, std::size_t key_bytes, std::size_t row_bytes);
  void add_fault(Fault fault);

  const TableSchema& table_;
  const ValueRules& rules_;
  const std::unique_ptr<RowCoder> coder_;
  RowBatch batch_{};
  std::size_t rows_size_ = 0;  ///< of the batch before, as the next: this one need not grow
  std::size_t records_size_ = 0;
  BatchRecord record_{};         ///< that has begun, as the next
  std::vector<Value> values_{};  ///< of its row
  TextArena arena_{};            ///< with texts of these
};

/// That a column gets no value which is never null.
[[nodiscard]] ValueFault null_fault();

}  // namespace palimpsest::load
