#include "engine/format/row_values.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

namespace palimpsest::engine {

std::span<const Value> RowValues::of(const TableFormat& format, ByteView key, ByteView row) {
  if (!format.rows().fits(row)) {
    throw Error(ErrorCode::corruption, fmt::format("table \"{}\": a row of {} bytes is too short",
                                                   format.schema().name, row.size()));
  }
  key_.forget();
  const std::span<const Value> key_values = key_.values(format, key);
  values_.resize(format.rows().column_count());
  for (std::size_t column = 0; column < values_.size(); ++column) {
    if (format.rows().place(column).kind != PlaceKind::key) {
      values_[column] = format.rows().value(row, column);
    }
  }
  const std::span<const std::size_t> numbers = format.keys().columns();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    values_[numbers[i]] = key_values[i];
  }
  return values_;
}

}  // namespace palimpsest::engine
