// Fills a new index with entries for the rows that are there.
//
// The index is its maker's alone until he commits, and its tree goes back to be emptied if he does
// not: so the entries need not be his changes. They are inserted by transactions of their own, a
// thousand at a time: an index of any size takes neither log nor memory for itself. These commit
// before the maker does, and so survive if he does.
// Latching: none; the caller is the table's definer, and nobody else writes to it.
// Failure: as transactions; what was inserted is then emptied with the tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/definitions/table_state.h"
#include "txn/transactions.h"

namespace palimpsest::engine {

/// Fills the index of that number, as part of a call of `inside`. The key, for people, that two
/// rows have, if it is unique and they do; nothing if it is done.
[[nodiscard]] std::optional<std::string> build_index(txn::Transactions& transactions,
                                                     txn::Transaction& inside,
                                                     const TableDefinition& table,
                                                     std::size_t index);

}  // namespace palimpsest::engine
