#include "engine/catalog/stored_definitions.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "palimpsest/error.h"

#include "btree/node/node_print.h"
#include "engine/catalog/tree_pool.h"
#include "engine/format/schema_format.h"

namespace palimpsest::engine {
namespace {

StoredTable decode(ByteView name, ByteView record) {
  try {
    return decode_table(record);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("the record of table \"{}\": {}", btree::printable(name),
                                          error.what()));
  }
}

}  // namespace

StoredDefinitions::StoredDefinitions(txn::TreeCatalog& trees) : trees_(trees) {
  for (const txn::TreeCatalog::Entry& entry : trees.entries()) {
    known_.emplace(entry.id, TreePool::is_name(entry.name));
  }
}

std::unique_ptr<const TableDefinition> StoredDefinitions::read(ByteView name, ByteView record) {
  StoredTable stored = decode(name, record);
  if (stored.schema.name != name) {
    throw Error(ErrorCode::corruption,
                fmt::format("the record of table \"{}\" describes table \"{}\"",
                            btree::printable(name), stored.schema.name));
  }
  auto definition = std::make_unique<TableDefinition>();
  definition->rows = take(stored.schema.name, stored.tree);
  for (const StoredIndex& index : stored.indexes) {
    definition->add_index(*take(stored.schema.name, index.tree));
  }
  definition->format = std::make_shared<const TableFormat>(std::move(stored));
  return definition;
}

btree::BTree* StoredDefinitions::take(std::string_view table, TreeId id) {
  const auto known = known_.find(id);
  const char* why = nullptr;
  if (known == known_.end()) {
    why = "does not exist";
  } else if (!known->second) {
    why = "is not a tree of tables";
  } else if (!used_.insert(id).second) {
    why = "also belongs to another table or index";
  }
  if (why != nullptr) {
    throw Error(ErrorCode::corruption,
                fmt::format("table \"{}\": its tree {} {}", table, raw(id), why));
  }
  return &trees_.tree(id);
}

}  // namespace palimpsest::engine
