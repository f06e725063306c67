// Checks the stored definitions of all tables, and finds the trees that no definition names. For
// tests and for `palimpsest check`.
//
// A tree that was made for tables and is in no definition is vacant, or waits to be emptied: that
// is so after any drop, and it is not stored anywhere (tree_pool.h). So a record that was lost with
// its key cannot be told from a dropped table.
//
// Failure: a damaged record is a finding, and the other records are read; throws Error if the tree
// of the tables cannot be read to its end.
// Thread-safety: the database must not be changed during the call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/table/table_state.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

/// A table with a damaged definition.
struct DamagedDefinition {
  std::string table;  ///< its name, printable
  std::string what;   ///< the damage
};

/// A tree of no definition, except those that the database itself uses.
struct UnusedTree {
  std::string name;
  bool is_for_tables = false;  ///< vacant or waiting to be emptied; false: made for another purpose
};

struct DefinitionsAudit {
  std::vector<DamagedDefinition> damaged;
  std::vector<std::unique_ptr<const TableDefinition>> tables;  ///< the sound ones, ascending by
                                                               ///< name
  /// Only if no definition is damaged: the trees of a damaged one are unknown.
  std::vector<UnusedTree> unused;
};

/// Reads all definitions. The catalog outlives the result.
[[nodiscard]] DefinitionsAudit audit_definitions(txn::TreeCatalog& trees);

}  // namespace palimpsest::engine
