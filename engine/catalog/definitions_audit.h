// Checks what is stored about tables: every definition, and which trees are nobody's. For tests and
// for `palimpsest check`.
//
// A tree that was made for tables and is in no definition is vacant, or waits to be emptied: that
// is so after any drop, and nothing is stored about it (tree_pool.h). So a record that is lost
// with its key cannot be told from a table that was dropped.
//
// Failure: what is wrong with a record is a finding, and the others are read; throws Error if the
//          tree of the tables cannot be read to its end.
// Thread-safety: the database must not be changed during the call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/table/table_state.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

/// A table whose definition is damaged.
struct DamagedDefinition {
  std::string table;  ///< its name, printable
  std::string what;   ///< is wrong
};

/// A tree of no definition, beside those that the database itself uses.
struct UnusedTree {
  std::string name;
  bool is_for_tables = false;  ///< it is vacant or waits to be emptied; false: others have made it
};

struct DefinitionsAudit {
  std::vector<DamagedDefinition> damaged;
  std::vector<std::unique_ptr<const TableDefinition>> tables;  ///< the others, ascending by name
  /// If none is damaged; otherwise it is not known which trees are theirs.
  std::vector<UnusedTree> unused;
};

/// Reads all definitions. The catalog outlives what is returned.
[[nodiscard]] DefinitionsAudit audit_definitions(TreeCatalog& trees);

}  // namespace palimpsest::engine
