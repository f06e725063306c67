// A row as its bytes: what RowView shows of it, and what Table::insert() and its like take.
//
// Made of values by RowEncoder and RowWriter, or of the bytes of another row.
// Thread-safety: a plain value that views its bytes.
#pragma once

#include <string_view>

#include "palimpsest/column.h"

namespace palimpsest {

/// A row as it is stored: what RowView shows of it. Refused if it is none of the table. Only made
/// by of(): a list of two texts is the Values of a row.
struct EncodedRow {
  [[nodiscard]] static constexpr EncodedRow of(std::string_view key, std::string_view bytes,
                                               detail::LayoutNumber layout = 0) noexcept {
    EncodedRow row;
    row.key = key;
    row.bytes = bytes;
    row.layout = layout;
    return row;
  }

  std::string_view key{};
  std::string_view bytes{};
  /// Says which columns it was encoded for; 0: it is judged by its bytes alone.
  detail::LayoutNumber layout = 0;

 private:
  constexpr EncodedRow() noexcept = default;
};

}  // namespace palimpsest
