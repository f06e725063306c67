// What a table is after an alteration: its schema and its indexes', and where the values come from.
//
// Thread-safety: pure functions.
// Failure: Error invalid_argument, which names table, column and index, for what no table can
//          become.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "palimpsest/table_alteration.h"

#include "engine/format/schema_format.h"

namespace palimpsest::engine {

struct AlteredTable {
  /// Its key, of the same columns as before, and its indexes; the trees are those of before.
  StoredTable stored;
  /// For each column its number before; nothing: it is new.
  std::vector<std::optional<std::size_t>> sources;
};

[[nodiscard]] AlteredTable altered(const StoredTable& before, const TableAlteration& alteration);

}  // namespace palimpsest::engine
