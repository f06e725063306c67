#include "engine/tables/typed_columns.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "engine/tables/column_value.h"

namespace palimpsest::engine {
namespace detail {

std::size_t require_column(const RowLayout& layout, std::string_view name, ColumnType type) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", column \"{}\"{}", layout.table(),
                            name.substr(0, kNameBytesMax), what));
  };
  const auto number = layout.find_column(name);
  if (!number) {
    refuse(": there is none of that name");
  }
  const DataType& found = layout.column(*number).type;
  if (found.type != type) {
    refuse(fmt::format(" of type {}: it is asked for as {}", text_of(found), name_of(type)));
  }
  if (layout.place(*number).kind == PlaceKind::key) {
    refuse(": it is in the primary key, not in the row");
  }
  return *number;
}

}  // namespace detail

namespace {

const DataType& type_of(const RowLayout& layout, std::string_view name) {
  return layout.column(layout.find_column(name).value()).type;
}

/// The one of the two types of text without padding that a column has; any other is refused later.
ColumnType variable_type_of(const RowLayout& layout, std::string_view name) {
  const auto number = layout.find_column(name);
  const bool is_bytes = number && layout.column(*number).type.type == ColumnType::bytes;
  return is_bytes ? ColumnType::bytes : ColumnType::varchar;
}

}  // namespace

DecimalColumn::DecimalColumn(const RowLayout& layout, std::string_view name)
    : ColumnHandle(layout, name, ColumnType::decimal),
      end_(palimpsest::detail::kPowersOfTen[type_of(layout, name).precision]),
      scale_(type_of(layout, name).scale) {}

Decimal DecimalColumn::get(ByteView row) const {
  const Int128 stored = unscaled(row);
  if (stored <= -end_ || stored >= end_) [[unlikely]] {
    throw Error(ErrorCode::corruption, "a decimal in a row has more digits than its column");
  }
  return Decimal::of(stored, scale_);
}

bool DecimalColumn::set_unscaled(MutableBytes row, Int128 unscaled) const noexcept {
  if (unscaled <= -end_ || unscaled >= end_) {
    return false;
  }
  std::memcpy(change(row), &unscaled, place().width);
  return true;
}

bool DecimalColumn::set(MutableBytes row, const Decimal& value) const noexcept {
  const auto scaled = value.with_scale(scale_);
  return scaled && set_unscaled(row, scaled->unscaled());
}

ByteView CharacterColumn::get(ByteView row) const noexcept {
  return is_null(row) ? ByteView() : RowLayout::padded(row, place());
}

bool CharacterColumn::set(MutableBytes row, ByteView text) const noexcept {
  const ByteView significant = without_padding(text);
  if (significant.size() > place().width) {
    return false;
  }
  char* const into = change(row);
  if (!significant.empty()) {
    std::memmove(into, significant.data(), significant.size());  // it may be a view of this row
  }
  std::memset(into + significant.size(), ' ', place().width - significant.size());
  return true;
}

VariableColumn::VariableColumn(const RowLayout& layout, std::string_view name)
    : ColumnHandle(layout, name, variable_type_of(layout, name)), layout_(&layout) {}

}  // namespace palimpsest::engine
