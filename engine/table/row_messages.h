// Errors about damaged rows and indexes, naming table, index and key.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "engine/format/table_format.h"

namespace palimpsest::engine {

/// Throws corruption: the row is not a valid one of the table.
[[noreturn]] void refuse_damaged_row(const TableFormat& format, ByteView key, std::string_view why);
/// Throws corruption: an index contradicts its table.
[[noreturn]] void refuse_damaged_index(const TableFormat& format, std::size_t index,
                                       std::string_view why);

/// Called for every row before a caller sees it.
inline void require_fitting(const TableFormat& format, ByteView key, ByteView row) {
  if (!format.rows().fits(row)) [[unlikely]] {
    refuse_damaged_row(format, key, "it is too short");
  }
}

}  // namespace palimpsest::engine
