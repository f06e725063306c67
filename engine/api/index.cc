#include <fmt/format.h>

#include "palimpsest/error.h"
#include "palimpsest/table.h"

#include "engine/api/cursor_state.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/rows/table_reads.h"

namespace palimpsest {
namespace {

constexpr std::size_t kRowsHint = 8;

}  // namespace

IndexSchema Index::schema() const {
  const detail::TableFormat& format = table_->format();
  const auto number = format.find_index(name_);
  if (!number) {
    throw Error(ErrorCode::not_found,
                fmt::format("table \"{}\" has no index \"{}\"", table_->table().name(), name_));
  }
  return format.stored().indexes[*number].schema;
}

std::optional<Row> Index::get_in(const Transaction* in, const Key& key) const {
  std::optional<Row> row;
  engine::TableReads(table_->reader(in), table_->table())
      .read_by_index(name_, key, [&](const RowView& view) { row.emplace(view); });
  return row;
}

Cursor Index::cursor_in(const Transaction* in, const Range& range) const {
  return Cursor(
      std::make_unique<detail::CursorState>(table_, table_->reader(in), name_, range, kRowsHint));
}

Cursor Table::cursor_in(const Transaction* in, const Range& range, std::size_t rows_hint) const {
  return Cursor(std::make_unique<detail::CursorState>(handle_, handle_->reader(in),
                                                      std::string_view(), range, rows_hint));
}

}  // namespace palimpsest
