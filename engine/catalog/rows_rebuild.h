// Rebuilds the rows of an altered table with its new columns, in trees of their own.
//
// Keys stay the same, so any number of rows can be read and appended in their order
// (bulk/tree_loader.h).
//
// Latching: none; the caller is the table's definer, and no other transaction writes to the table.
// Failure: Error invalid_argument, naming table, column and row, for a value that the new column
// cannot have, and for a row that would get another key; whatever `convert` throws; as TreeLoader.
// What was appended is then emptied with the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "palimpsest/table_alteration.h"

#include "engine/table/table_state.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// As part of a call of `maker`, with the newest rows. `sources`: as in AlteredTable; null
/// `convert`: no conversion.
void rebuild_rows(txn::Transactions& transactions, txn::Transaction& maker,
                  const TableDefinition& before, const TableDefinition& after,
                  std::span<const std::optional<std::size_t>> sources, const ConvertRow* convert);

}  // namespace palimpsest::engine
