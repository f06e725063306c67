// A row in its stored form: what RowView shows of it, and what Table::insert() and its like accept.
//
// RowEncoder and RowWriter make it from values; of() wraps the bytes of another row.
// Thread-safety: a plain value that views its bytes.
#pragma once

#include <string_view>

#include "palimpsest/column.h"

namespace palimpsest {

/// A row in its stored form. The table refuses it if it does not decode as a row of that table.
/// Made by of() only, since a list of two texts would be the Values of a row.
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
  /// Identifies the columns that it was encoded for; 0: unknown, the bytes alone are validated.
  detail::LayoutNumber layout = 0;

 private:
  constexpr EncodedRow() noexcept = default;
};

}  // namespace palimpsest
