// The rows of a table that is altered, made anew with its new columns, in trees of their own.
//
// Keys stay, so rows are read in their order and appended (tree_loader.h): any number of them.
//
// Latching: none; the caller is the table's definer, and nobody else writes to it.
// Failure: Error invalid_argument, which names table, column and row, for a value that the new
//          column cannot have, and for a row that would have another key; whatever `convert`
//          throws; as TreeLoader. What was appended is then emptied with the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "palimpsest/table_alteration.h"

#include "engine/table/table_state.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// As part of a call of `maker`, with the newest rows. `sources`: as those of AlteredTable; null
/// `convert`: none.
void rebuild_rows(txn::Transactions& transactions, txn::Transaction& maker,
                  const TableDefinition& before, const TableDefinition& after,
                  std::span<const std::optional<std::size_t>> sources, const ConvertRow* convert);

}  // namespace palimpsest::engine
