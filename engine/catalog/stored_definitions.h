// Reads stored definitions of tables one after the other, and checks that the trees a record names
// exist, were made for tables, and belong to no other table. For opening and for checking a
// database.
//
// Failure: read() throws Error corruption or unsupported_version, naming the table, for an invalid
// record; what the trees throw. Later records can be read afterwards; the trees that the record
// named before the error count as used.
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

/// The catalog's name of the tree of all tables. Key: the table's name; value:
/// format/schema_format.h.
inline constexpr std::string_view kTablesTree = "tables";

class StoredDefinitions {
 public:
  /// The catalog outlives this, and has all its trees already.
  explicit StoredDefinitions(txn::TreeCatalog& trees);

  /// The table of a record that was not read before.
  [[nodiscard]] std::unique_ptr<const TableDefinition> read(ByteView name, ByteView record);

  /// The trees of all tables read.
  [[nodiscard]] const std::set<TreeId>& used() const noexcept { return used_; }

 private:
  [[nodiscard]] btree::BTree* take(std::string_view table, TreeId id);

  txn::TreeCatalog& trees_;
  std::map<TreeId, bool> known_;  ///< all trees, and whether they are made for tables
  std::set<TreeId> used_;
};

}  // namespace palimpsest::engine
