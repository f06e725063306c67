#include <string_view>

#include "palimpsest/table.h"

#include "engine/api/cursor_state.h"
#include "engine/api/table_handle.h"
#include "engine/api/transaction_state.h"
#include "engine/table/table_reader.h"

namespace palimpsest {

using detail::require_handle;

namespace {

constexpr std::size_t kRowsHint = 8;
constexpr std::string_view kIndex = "index";

}  // namespace

IndexSchema Index::schema() const {
  const auto format = require_handle(table_, kIndex).format();
  return format->stored().indexes[format->require_index(name_)].schema;
}

std::optional<Row> Index::get_in(const Transaction* in, const Key& key) const {
  const detail::TableHandle& table = require_handle(table_, kIndex);
  const detail::InTransaction by = table.reader(in);
  const engine::TableReader reader(table.readable(), by.get(), engine::Reads::several);
  std::optional<Row> row;
  reader.read_by_index(name_, key, [&](const RowView& view) { row.emplace(view); });
  return row;
}

Cursor Index::cursor_in(const Transaction* in, const Range& range) const {
  static_cast<void>(require_handle(table_, kIndex));
  return Cursor(std::make_unique<detail::CursorState>(table_, in, name_, range, kRowsHint));
}

Cursor Table::cursor_in(const Transaction* in, const Range& range, std::size_t rows_hint) const {
  static_cast<void>(handle());
  return Cursor(
      std::make_unique<detail::CursorState>(handle_, in, std::string_view(), range, rows_hint));
}

}  // namespace palimpsest
