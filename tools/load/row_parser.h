// Chunks of a file become rows, as a RowCoder makes them, and what is wrong with the records that
// are none.
//
// The order of the input is kept, so that the sink that puts rows into the table can tell of each
// where it came from.
// Failure: what the coder throws; faults are in the batch. Thread-safety: a parser belongs to one
// thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/table.h"

#include "tools/load/chunk_reader.h"
#include "tools/load/column_plan.h"
#include "tools/load/dialect.h"
#include "tools/load/fault.h"
#include "tools/load/row_coder.h"

namespace palimpsest::load {

/// A chunk, and which of its fields is which column.
struct PlannedChunk {
  Chunk chunk{};
  std::shared_ptr<const ColumnPlan> plan{};
};

/// A record of a chunk: a row, or a fault.
struct BatchRecord {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t begin = 0;  ///< in the chunk
  std::size_t end = 0;    ///< behind its \n
  std::uint64_t line = 0;
  std::size_t fault = kNone;  ///< its number, from 0
  std::size_t row = 0;        ///< where it begins among the bytes of the batch's rows, as the next
  std::size_t key_bytes = 0;
  std::size_t row_bytes = 0;  ///< behind those of the key
};

struct RowBatch {
  Chunk chunk{};
  std::string rows{};  ///< their keys and bytes, one behind the other
  std::vector<BatchRecord> records{};
  std::vector<Fault> faults{};         ///< without the name of the file
  std::uint64_t skipped_lines = 0;     ///< in the chunk, and what it tells of
  std::string header{};                ///< of the file that the chunk begins, as it stands there
  std::chrono::nanoseconds parsing{};  ///< the time that parsing took
  std::chrono::nanoseconds awaited_parsing{};  ///< of that, the time that the caller waited for

  /// Of memory, about.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return chunk.bytes + rows.capacity() + records.capacity() * sizeof(BatchRecord);
  }
  /// Of a record that is a row: a view of the batch.
  [[nodiscard]] EncodedRow row(const BatchRecord& record) const {
    const std::string_view all = std::string_view(rows).substr(record.row);
    return EncodedRow::of(all.substr(0, record.key_bytes),
                          all.substr(record.key_bytes, record.row_bytes));
  }
  [[nodiscard]] std::string_view text(const BatchRecord& record) const {
    return chunk.text().substr(record.begin, record.end - record.begin);
  }
  /// Where a byte of a record stands, but for the file's name.
  [[nodiscard]] Position position(const BatchRecord& record, std::size_t at) const;
};

class RowParser {
 public:
  /// For records of a dialect. Both outlive the parser. Without a coder rows have no bytes.
  [[nodiscard]] static std::unique_ptr<RowParser> make(const TableSchema& table,
                                                       const Dialect& dialect,
                                                       std::unique_ptr<RowCoder> coder = nullptr);
  virtual ~RowParser() = default;
  RowParser(const RowParser&) = delete;
  RowParser& operator=(const RowParser&) = delete;

  [[nodiscard]] virtual RowBatch parse(PlannedChunk input) = 0;

 protected:
  RowParser() = default;
};

}  // namespace palimpsest::load
