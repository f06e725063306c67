#include "engine/tables/row_struct.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/check.h"

namespace palimpsest::engine::detail {

Piece piece_of(const RowLayout& layout, std::string_view name, ColumnType type,
               std::size_t in_struct, std::size_t size) {
  const std::size_t number = require_column(layout, name, type);
  const ColumnPlace& place = layout.place(number);
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("table \"{}\", column \"{}\" of type {}: {}", layout.table(), name,
                            text_of(layout.column(number).type), what));
  };
  if (place.null_bit != kNeverNull) {
    refuse("it may be null, which a member of a struct cannot be");
  }
  if (place.width != size) {
    refuse(fmt::format("a member of a struct for it has {} bytes, not {}", place.width, size));
  }
  return {.in_row = place.offset,
          .in_struct = static_cast<std::uint32_t>(in_struct),
          .size = place.width};
}

std::vector<Piece> joined(std::vector<Piece> pieces) {
  std::ranges::sort(pieces, {}, &Piece::in_row);
  std::vector<Piece> joined;
  for (const Piece& piece : pieces) {
    Piece* const last = joined.empty() ? nullptr : &joined.back();
    check(last == nullptr || last->in_row + last->size <= piece.in_row,
          "a column is one member of a struct");
    if (last != nullptr && last->in_row + last->size == piece.in_row &&
        last->in_struct + last->size == piece.in_struct) {
      last->size += piece.size;
    } else {
      joined.push_back(piece);
    }
  }
  return joined;
}

}  // namespace palimpsest::engine::detail
