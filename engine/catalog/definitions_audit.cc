#include "engine/catalog/definitions_audit.h"

#include <set>

#include "palimpsest/error.h"

#include "btree/cursor.h"
#include "btree/node/node_print.h"
#include "engine/catalog/stored_definitions.h"
#include "engine/catalog/tree_pool.h"

namespace palimpsest::engine {
namespace {

std::vector<UnusedTree> trees_of_no_table(const txn::TreeCatalog& trees,
                                          const std::set<TreeId>& used) {
  std::vector<UnusedTree> unused;
  for (const txn::TreeCatalog::Entry& entry : trees.entries()) {
    const bool is_the_databases = entry.id == txn::kCatalogTree || entry.name == kTablesTree;
    if (!is_the_databases && !used.contains(entry.id)) {
      unused.push_back({.name = entry.name, .is_for_tables = TreePool::is_name(entry.name)});
    }
  }
  return unused;
}

}  // namespace

DefinitionsAudit audit_definitions(txn::TreeCatalog& trees) {
  DefinitionsAudit audit;
  StoredDefinitions definitions(trees);
  if (const btree::BTree* const tables = trees.find(kTablesTree)) {
    btree::Cursor cursor(*tables);
    std::string record;
    for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      try {
        if (cursor.read_value(record)) {
          audit.tables.push_back(definitions.read(cursor.key(), record));
        }
      } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) {
          throw;
        }
        audit.damaged.push_back({.table = btree::printable(cursor.key()), .what = error.what()});
      }
    }
  }
  if (audit.damaged.empty()) {
    audit.unused = trees_of_no_table(trees, definitions.used());
  }
  return audit;
}

}  // namespace palimpsest::engine
