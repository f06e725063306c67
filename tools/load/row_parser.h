// Chunks of a file become rows: the values of all columns of the table, and what is wrong with the
// records that are none.
//
// Values view the chunk, or the batch's arena. The order of the input is kept, so that whoever puts
// rows into the table can tell of each where it came from.
// Failure: none; faults are in the batch. Thread-safety: a parser belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/schema.h"
#include "palimpsest/value.h"

#include "tools/load/chunk_reader.h"
#include "tools/load/column_plan.h"
#include "tools/load/dialect.h"
#include "tools/load/fault.h"
#include "tools/load/text_arena.h"

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
  std::size_t row = kNone;    ///< its number, from 0
  std::size_t fault = kNone;  ///< its number, from 0
};

struct RowBatch {
  Chunk chunk{};
  TextArena arena{};
  std::size_t column_count = 0;
  std::vector<Value> values{};  ///< row by row
  std::vector<BatchRecord> records{};
  std::vector<Fault> faults{};  ///< without the name of the file
  std::uint64_t skipped_lines = 0;

  [[nodiscard]] std::span<const Value> row(std::size_t number) const {
    return std::span(values).subspan(number * column_count, column_count);
  }
  [[nodiscard]] std::string_view text(const BatchRecord& record) const {
    return chunk.text().substr(record.begin, record.end - record.begin);
  }
  /// Where a byte of a record stands, but for the file's name.
  [[nodiscard]] Position position(const BatchRecord& record, std::size_t at) const;
};

class RowParser {
 public:
  /// For records of a dialect. Both outlive the parser.
  [[nodiscard]] static std::unique_ptr<RowParser> make(const TableSchema& table,
                                                       const Dialect& dialect);
  virtual ~RowParser() = default;
  RowParser(const RowParser&) = delete;
  RowParser& operator=(const RowParser&) = delete;

  [[nodiscard]] virtual RowBatch parse(PlannedChunk input) = 0;

 protected:
  RowParser() = default;
};

}  // namespace palimpsest::load
