// Fills a new index with entries for the existing rows.
//
// The entries are sorted (bulk/sort/external_sort.h) and appended (bulk/tree_loader.h): they take
// the memory that SortSpace says, and a few MiB for appending. Two rows with one key in a unique
// index have adjacent entries then, and are found.
//
// Latching: none; the caller is the table's definer, and no other transaction writes to the table.
// Failure: invalid_argument for a row with a key in the index that exceeds the limit, before
// anything is appended; as sorts, and as transactions; snapshot_too_old when the maker's snapshot
// was cancelled. What was appended is then emptied with the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/io/device.h"
#include "engine/table/table_state.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// The resources for sorting the entries of a new index.
struct SortSpace {
  io::Device& device;        ///< for what does not fit into memory
  std::size_t memory_bytes;  ///< for each index being built
  std::size_t threads;       ///< in addition to the maker's
};

/// Fills index number `index`, as part of a call of `inside`, with the rows that `read_view` sees
/// (null: the newest). Nothing on success; if the index is unique and two rows have the same key,
/// that key, in printable form.
[[nodiscard]] std::optional<std::string> build_index(
    txn::Transactions& transactions, txn::Transaction& inside, const TableDefinition& table,
    std::size_t index, const versioning::ReadView* read_view, const SortSpace& space);

}  // namespace palimpsest::engine
