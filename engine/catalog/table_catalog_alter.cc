// Alters columns of tables (table_catalog.h), in trees of a bulk's own, which become visible when
// it commits, to snapshots from then on.
#include <fmt/format.h>

#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/catalog/altered_table.h"
#include "engine/catalog/definition_trees.h"
#include "engine/catalog/rows_rebuild.h"
#include "engine/catalog/table_catalog.h"

namespace palimpsest::engine {

using btree::BTree;
using txn::Transaction;

Outcome TableCatalog::alter_table(Transaction& by, std::string_view name, AlterSchema to,
                                  const ConvertRow* convert, const CommitStatusPtr& bulk) {
  PALIMPSEST_SYNC_POINT("engine.table.altering");
  return change_in_bulk(by, bulk, [&]() -> Outcome {
    const Claimed claimed = claim_table(by, name);
    if (!claimed.outcome) {
      return claimed.outcome;
    }
    TableState& table = *claimed.table;
    if (table.bulk_view(&by) != nullptr) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("table \"{}\": this bulk has already changed its rows: columns must "
                              "be altered before rows are changed",
                              name));
    }
    if (table.visible_to(&by)->commit_status == bulk) {
      return rebuild(by, table, to, convert, bulk);
    }
    return do_or_release(by, claimed.table, [&] {
      return sees_newest(by, table) && sees_newest_record(by, name)
                 ? rebuild(by, table, to, convert, bulk)
                 : outcome_at(OutcomeKind::conflict, name);
    });
  });
}

// The replaced definition retains its trees, for older snapshots. But trees of this bulk's own were
// never visible to another transaction, and the bulk stops using them.
Outcome TableCatalog::rebuild(Transaction& by, TableState& table, AlterSchema to,
                              const ConvertRow* convert, const CommitStatusPtr& bulk) {
  const TableDefinition& before = *table.visible_to(&by);
  const std::shared_ptr<TreesLife> life = before.life;
  AlteredTable altered = engine::altered(before.format->stored(), to(before.format->schema()));
  require_keys_fit(altered.stored);
  const bool is_own = before.commit_status == bulk;
  const std::vector<BTree*> outdated = is_own ? own_trees_of(before) : std::vector<BTree*>();
  prepare_drop(by, outdated.size());
  auto definition = in_new_trees(by, std::move(altered.stored));
  const std::vector<BTree*> made = own_trees_of(*definition);
  try {
    definition->commit_status = bulk;
    rebuild_rows(transactions_, by, before, *definition, altered.sources, convert);
    for (std::size_t index = 0; index < definition->indexes.size(); ++index) {
      if (auto key = build_index(transactions_, by, *definition, index, nullptr, sorting_)) {
        give_trees_back(by, made);
        return {OutcomeKind::exists,
                {.table = table.name(),
                 .index = definition->format->stored().indexes[index].schema.name,
                 .key = *std::move(key)}};
      }
    }
    table.change_to(std::move(definition));
  } catch (...) {
    give_trees_back(by, made);
    throw;
  }
  if (is_own) {
    life->are_gone.store(true, std::memory_order_release);
  }
  drop_trees(by, outdated);
  return {};
}

}  // namespace palimpsest::engine
