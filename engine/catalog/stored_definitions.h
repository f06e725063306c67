// The definitions of tables as they are stored, read one after the other: what a record says, and
// that the trees it names are there, made for tables, and no other table's. For opening and for
// checking a database.
//
// Failure: read() throws Error corruption or unsupported_version, which names the table, for a
//          record that is none; what the trees throw. Later ones can be read then; the trees that
//          the record named before what is wrong with it count as used.
// Thread-safety: belongs to one thread; no table is made or dropped meanwhile.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "engine/table/table_state.h"
#include "txn/tree_catalog.h"

namespace palimpsest::engine {

/// The name in the catalog of the tree that tables are stored in. Key: the table's name, value:
/// schema_format.h.
inline constexpr std::string_view kTablesTree = "tables";

class StoredDefinitions {
 public:
  /// The catalog outlives it, and has all its trees already.
  explicit StoredDefinitions(TreeCatalog& trees);

  /// The table of a record, which has not been read before.
  [[nodiscard]] std::unique_ptr<const TableDefinition> read(ByteView name, ByteView record);

  /// The trees of all that were read.
  [[nodiscard]] const std::set<TreeId>& used() const noexcept { return used_; }

 private:
  [[nodiscard]] btree::BTree* take(std::string_view table, TreeId id);

  TreeCatalog& trees_;
  std::map<TreeId, bool> known_;  ///< all there are, and whether they are made for tables
  std::set<TreeId> used_;
};

}  // namespace palimpsest::engine
