#include "tools/load/row_numbers.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "palimpsest/error.h"

#include "tools/load/fault.h"
#include "tools/load/usage_error.h"

namespace palimpsest::load {

RowNumbers::RowNumbers(const TableSchema& table, const std::string& column, std::int64_t next)
    : next_(next) {
  const auto number = table.find_column(column);
  const bool may_count = number && table.key == std::vector{column} &&
                         table.columns[*number].type.type == ColumnType::int64;
  if (!may_count) {
    throw UsageError(
        fmt::format("--row-id {}: the column is not an int64 that is the primary key alone",
                    in_quotes(column)));
  }
  writer_ = RowWriter::of(
      TableSchema{.name = "rows", .columns = {{"number", types::int64()}}, .key = {"number"}});
}

void RowNumbers::number(std::string& rows, const BatchRecord& record) {
  if (record.key_bytes == 0) {
    return;  // its bytes are not wanted
  }
  key_.clear();
  writer_->begin(key_);
  static_cast<void>(writer_->set_integer(0, next_));
  static_cast<void>(writer_->end());
  key_.copy(rows.data() + record.row, record.key_bytes);
  ++next_;
}

std::int64_t next_number(const Table& table, const std::string& column) {
  const auto number = table.schema().find_column(column);
  Cursor cursor = table.cursor(Range::all(), 1);
  cursor.seek_last();
  if (!number || !cursor.valid() || cursor.row()[*number].kind() != ValueKind::integer) {
    return 1;
  }
  const std::int64_t last = cursor.row()[*number].as_integer();
  if (last == std::numeric_limits<std::int64_t>::max()) {
    throw UsageError(fmt::format("column {} has the largest number there is: no row can follow it",
                                 in_quotes(column)));
  }
  return last + 1;
}

}  // namespace palimpsest::load
