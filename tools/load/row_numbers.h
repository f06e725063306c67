// The numbers of rows that have no key of their own: 1 for the first row of a table, and on.
//
// Rows are parsed beside each other, before it is known how many come before them: so their keys
// are written when they are put, in their order.
// Failure: UsageError for a column that cannot count. Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "palimpsest/row_writer.h"
#include "palimpsest/schema.h"
#include "palimpsest/table.h"

#include "tools/load/row_parser.h"

namespace palimpsest::load {

class RowNumbers {
 public:
  /// `column`: the only one of the table's key, an int64.
  RowNumbers(const TableSchema& table, const std::string& column, std::int64_t next);

  /// The row gets the next number, in place of the one it has.
  void number(std::string& rows, const BatchRecord& record);
  /// As if so many rows had been numbered.
  void pass(std::uint64_t rows) noexcept { next_ += static_cast<std::int64_t>(rows); }

 private:
  std::optional<RowWriter> writer_{};
  std::string key_{};
  std::int64_t next_;
};

/// What comes behind the largest number that a table has.
[[nodiscard]] std::int64_t next_number(const Table& table, const std::string& column);

}  // namespace palimpsest::load
