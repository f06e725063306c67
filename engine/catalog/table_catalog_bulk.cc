// Bulks on tables (table_catalog.h): makes tables a bulk's own, and publishes them when it commits.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/cursor.h"
#include "engine/catalog/definition_trees.h"
#include "engine/catalog/table_catalog.h"
#include "engine/format/schema_format.h"

namespace palimpsest::engine {

using btree::BTree;
using txn::Transaction;

// Before it commits, a bulk makes no change of its own: it does not pin the log.
Outcome TableCatalog::change_in_bulk(Transaction& by, const CommitStatusPtr& bulk,
                                     FunctionRef<Outcome()> work) {
  return by.hold([&] {
    {
      const std::lock_guard lock(mutex_);
      changes_[&by].commit_status = bulk;
    }
    by.tell_end_to(*this);
    by.decide_too(*bulk);
    return work();
  });
}

Outcome TableCatalog::make_own(Transaction& by, const TableState& table,
                               const CommitStatusPtr& bulk) {
  if (table.definer() == &by) [[likely]] {
    const TableDefinition* const definition = table.visible_to(&by);
    if (definition != nullptr &&
        (definition->commit_status == bulk || table.bulk_view(&by) != nullptr)) [[likely]] {
      return {};
    }
  }
  return change_in_bulk(by, bulk, [&]() -> Outcome {
    const Claimed claimed = claim_own(by, table.name(), bulk);
    const bool is_another = claimed.outcome && claimed.table.get() != &table;
    if (is_another || claimed.outcome.kind() == OutcomeKind::absent) {
      throw Error(ErrorCode::not_found, fmt::format("there is no table \"{}\"", table.name()));
    }
    return claimed.outcome;
  });
}

// If not, the bulk could not update the table's record when it commits.
bool TableCatalog::sees_newest_record(const Transaction& by, std::string_view name) const {
  const BTree* const tables = trees_.find(kTablesTree);
  if (tables == nullptr || !txn::has_one_snapshot(by.isolation())) {
    return true;
  }
  std::string newest;
  std::string seen;
  const bool is_there = tables->lookup(name, newest);
  return tables->lookup(name, seen, nullptr, by.read_view()) == is_there && seen == newest;
}

TableCatalog::Claimed TableCatalog::claim_own(Transaction& by, std::string_view name,
                                              const CommitStatusPtr& bulk) {
  Claimed claimed = claim_table(by, name);
  if (!claimed.outcome || claimed.table->visible_to(&by)->commit_status == bulk ||
      claimed.table->bulk_view(&by) != nullptr) {
    return claimed;
  }
  claimed.outcome =
      do_or_release(by, claimed.table, [&] { return own_trees(by, *claimed.table, bulk); });
  return claimed;
}

Outcome TableCatalog::own_trees(Transaction& by, TableState& table, const CommitStatusPtr& bulk) {
  if (!sees_newest(by, table) || !sees_newest_record(by, table.name())) {
    return outcome_at(OutcomeKind::conflict, table.name());
  }
  btree::Cursor rows(*table.visible_to(&by)->rows, 1);
  rows.seek_first();
  rows.valid() ? change_in_place(by, table) : replace_trees(by, table, bulk);
  return {};
}

void TableCatalog::change_in_place(Transaction& by, TableState& table) {
  wait_until_retired(by, table);
  const TableDefinition& definition = *table.visible_to(&by);
  std::vector<BTree*> trees = definition.indexes;
  trees.push_back(definition.rows);
  for (const BTree* const tree : trees) {
    bulks_.sweep.require_undone(tree->id());
  }
  bulk::BulkLedger::Begun begun;
  {
    const std::lock_guard lock(mutex_);
    begun = changes_[&by].epoch;
  }
  if (begun.commit_status != nullptr) {
    bulks_.ledger.add(by, begun.epoch, trees);
  } else {
    wait_for_room(by, table);
    begun = bulks_.ledger.begin(by, trees);
    by.decide_too(*begun.commit_status);
    const std::lock_guard lock(mutex_);
    changes_[&by].epoch = begun;
  }
  const std::lock_guard lock(mutex_);
  table.begin_bulk(begun.epoch, transactions_.now());
}

/// Waits while is_in_the_way(), which old snapshots cause; false after the patience. Throws
/// invalid_argument if the oldest snapshot is one of this thread, within run(). Not at once: a
/// snapshot that is being taken is in the way for an instant, too, and does not count as the
/// oldest.
template <class InTheWay>
bool TableCatalog::wait_for_readers(const Transaction& by, const TableState& table,
                                    const InTheWay& is_in_the_way) const {
  const auto began = std::chrono::steady_clock::now();
  for (;;) {
    bulks_.epochs.retire(transactions_.horizon());
    if (!is_in_the_way()) {
      return true;
    }
    const auto waited = std::chrono::steady_clock::now() - began;
    const Transaction* const oldest = transactions_.owner_of_oldest_snapshot();
    if (waited >= txn::OwnWait::kGrace && oldest != nullptr && oldest != &by &&
        oldest->thread().is_bound_to_this()) {
      txn::OwnWait::refuse(
          fmt::format("table \"{}\": a bulk, which begins when no reader needs the earlier state,",
                      table.name()));
    }
    if (waited >= patience_) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A leaf has one epoch. Leaves of an aborted bulk are cleaned when they are written to.
void TableCatalog::wait_until_retired(const Transaction& by, const TableState& table) const {
  const auto is_in_the_way = [&] {
    return bulks_.epochs.state(table.last_bulk()) == versioning::BulkEpochs::State::committed;
  };
  if (!wait_for_readers(by, table, is_in_the_way)) {
    throw Error(
        ErrorCode::gate_timeout,
        fmt::format("table \"{}\": bulk {} has changed it, and {} began before its commit and "
                    "still reads the earlier state: end that reader",
                    table.name(), raw(table.last_bulk()), transactions_.oldest_reader_text()));
  }
}

// All bulks that take up room have committed, and an old snapshot does not see them, or are being
// undone by the sweep.
void TableCatalog::wait_for_room(const Transaction& by, const TableState& table) const {
  if (!wait_for_readers(by, table, [&] { return !bulks_.ledger.has_room(); })) {
    throw Error(
        ErrorCode::too_many_bulks,
        fmt::format("table \"{}\": {} bulks of tables with rows are not retired, which is the "
                    "limit; {} keeps the committed ones from retiring, and {} that were rolled "
                    "back are not undone yet; end the reader, and begin the bulk again",
                    table.name(), bulks_.epochs.count(), transactions_.oldest_reader_text(),
                    bulks_.ledger.aborted()));
  }
}

void TableCatalog::replace_trees(Transaction& by, TableState& table, const CommitStatusPtr& bulk) {
  const TableDefinition& before = *table.visible_to(&by);
  auto definition = in_new_trees(by, before.format->stored());
  definition->commit_status = bulk;
  table.change_to(std::move(definition));
}

std::unique_ptr<TableDefinition> TableCatalog::in_new_trees(Transaction& by, StoredTable stored) {
  auto definition = std::make_unique<TableDefinition>();
  try {
    definition->rows = &take_tree(by);
    stored.tree = definition->rows->id();
    for (StoredIndex& index : stored.indexes) {
      definition->add_index(take_tree(by));
      index.tree = definition->indexes.back()->id();
    }
    definition->format = std::make_shared<const TableFormat>(std::move(stored));
  } catch (...) {
    give_trees_back(by, definition->indexes);
    give_trees_back(by, {&definition->rows, 1});
    throw;
  }
  return definition;
}

void TableCatalog::give_trees_back(const Transaction& by, std::span<BTree* const> trees) noexcept {
  for (BTree* const tree : trees) {
    if (tree != nullptr) {
      give_tree_back(by, *tree);
    }
  }
}

/// The bulk's transaction is held: it has not ended, and its changes are not undone.
void TableCatalog::count_definitions(const std::list<TablePtr>& tables) {
  const std::lock_guard lock(mutex_);
  for (const TablePtr& table : tables) {
    table->publish();
  }
}

Outcome TableCatalog::publish(Transaction& by) {
  std::list<TablePtr> tables;
  BulkEpoch epoch = kNoEpoch;
  {
    const std::lock_guard lock(mutex_);
    const auto changes = changes_.find(&by);
    if (changes == changes_.end() || changes->second.tables.empty()) {
      return {};
    }
    tables = changes->second.tables;
    std::erase_if(tables, [&](const TablePtr& table) {
      return table->bulk_view(&by) != nullptr && !table->is_changed_by(by);
    });
    epoch = changes->second.epoch.epoch;
  }
  Outcome outcome = by.statement([&](const btree::WriteContext& context) -> Outcome {
    by.let_log_go();  // it began long ago, and has written nothing since
    if (epoch != kNoEpoch && !bulks_.ledger.commit_within(context, epoch)) {
      return outcome_at(OutcomeKind::conflict, bulk::kBulksTree);
    }
    for (const TablePtr& table : tables) {
      const TableDefinition& definition = *table->visible_to(&by);
      const std::string record = encode_table(definition.format->stored());
      if (tables_tree(by).upsert(context, table->name(), record).conflict) {
        return outcome_at(OutcomeKind::conflict, table->name());
      }
    }
    return {};
  });
  if (outcome) {
    PALIMPSEST_SYNC_POINT("engine.definitions.stored");
    by.hold([&] { count_definitions(tables); });  // throws if the engine has ended it meanwhile
  }
  return outcome;
}

}  // namespace palimpsest::engine
