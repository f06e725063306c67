// The result of an alteration: a table's new schema with its indexes', and where the values of its
// columns come from.
//
// Thread-safety: pure functions.
// Failure: Error invalid_argument, naming table, column and index, for an impossible alteration.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "palimpsest/table_alteration.h"

#include "engine/format/schema_format.h"

namespace palimpsest::engine {

struct AlteredTable {
  /// The key has the same columns as before; the trees are those of before.
  StoredTable stored;
  /// For each column its number before the alteration; nothing: a new column.
  std::vector<std::optional<std::size_t>> sources;
};

[[nodiscard]] AlteredTable altered(const StoredTable& before, const TableAlteration& alteration);

}  // namespace palimpsest::engine
