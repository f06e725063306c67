// Fills a new index with entries for the rows that are there.
//
// The entries are sorted (bulk/sort/external_sort.h) and appended (tree_loader.h): memory is as
// SortSpace says, with some mebibytes for what is appended. Two rows with one key in a unique index
// stand next to each other then, and are found.
//
// Latching: none; the caller is the table's definer, and nobody else writes to it.
// Failure: invalid_argument for a row whose key in the index is longer than keys may be, before
//          anything is appended; as sorts, and as transactions; snapshot_too_old when the maker's
//          snapshot was given up. What was appended is then emptied with the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/io/device.h"
#include "engine/table/table_state.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// Where the entries of an index that is being made are sorted.
struct SortSpace {
  io::Device& device;        ///< for what does not fit into the memory
  std::size_t memory_bytes;  ///< for each index that is being made
  std::size_t threads;       ///< beside the maker's
};

/// Fills the index of that number, as part of a call of `inside`, with the rows that `read view`
/// sees, null: the newest. The key, for people, that two rows have, if it is unique and they do;
/// nothing if it is done.
[[nodiscard]] std::optional<std::string> build_index(
    txn::Transactions& transactions, txn::Transaction& inside, const TableDefinition& table,
    std::size_t index, const versioning::ReadView* read_view, const SortSpace& space);

}  // namespace palimpsest::engine
