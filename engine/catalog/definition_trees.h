// Queries on definitions that the parts of the table catalog share.
//
// Thread-safety: pure functions, except sees_newest(), which is called in a call of its
// transaction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/outcome.h"

#include "btree/visible_record.h"
#include "engine/table/table_state.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

[[nodiscard]] inline Outcome outcome_at(OutcomeKind kind, std::string_view table,
                                        std::string_view index = {}) {
  return {kind, {.table = std::string(table), .index = std::string(index), .key = {}}};
}

/// The trees of a definition.
[[nodiscard]] inline std::vector<btree::BTree*> own_trees_of(const TableDefinition& definition) {
  std::vector<btree::BTree*> trees = definition.indexes;
  trees.push_back(definition.rows);
  return trees;
}

/// Whether a transaction that is a table's definer sees the newest state of all its rows.
[[nodiscard]] inline bool sees_newest(const txn::Transaction& by, const TableState& table) {
  if (!txn::has_one_snapshot(by.isolation())) {
    return true;
  }
  const TableDefinition* const definition = table.visible_to(&by);
  return table.is_newest_for(*definition, &by, by.read_view()) &&
         !btree::any_changed_since(definition->rows->descent(), *by.read_view());
}

}  // namespace palimpsest::engine
