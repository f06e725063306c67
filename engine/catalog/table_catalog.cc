#include "engine/catalog/table_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "btree/cursor.h"
#include "btree/node/key_bytes.h"
#include "engine/catalog/definition_trees.h"
#include "engine/format/key_codec.h"
#include "engine/format/schema_format.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;
using txn::Transaction;

/// A definition with the trees of `before` and another format, for one index more or less.
std::unique_ptr<TableDefinition> definition_of(StoredTable stored, const TableDefinition& before) {
  auto definition = std::make_unique<TableDefinition>(before);
  definition->format = std::make_shared<const TableFormat>(std::move(stored));
  return definition;
}

/// Checks that a row can have a key at all, by the minimum size of keys.
void require_keys_fit(const std::string& of, std::size_t bytes_min, std::uint32_t page_bytes) {
  if (const std::uint32_t most = btree::key_bytes_max(page_bytes); bytes_min > most) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: a key has at least {} bytes, but keys have at most {} with pages of {}",
                    of, bytes_min, most, page_bytes));
  }
}

void require_keys_fit(const TableSchema& table, std::uint32_t page_bytes) {
  require_keys_fit(fmt::format("table \"{}\"", table.name), KeyCodec(table).bytes_min(),
                   page_bytes);
}

void require_keys_fit(const TableSchema& table, const IndexSchema& index,
                      std::uint32_t page_bytes) {
  const std::size_t columns = KeyCodec(table, index.columns, KeyEnd::closed).bytes_min();
  require_keys_fit(fmt::format("table \"{}\", index \"{}\"", table.name, index.name),
                   columns + (index.unique ? 0 : KeyCodec(table).bytes_min()), page_bytes);
}

}  // namespace

void TableCatalog::require_keys_fit(const StoredTable& table) const {
  engine::require_keys_fit(table.schema, trees_.page_size());
  for (const StoredIndex& index : table.indexes) {
    engine::require_keys_fit(table.schema, index.schema, trees_.page_size());
  }
}

// Opening

void TableCatalog::open() {
  StoredDefinitions definitions(trees_);
  if (const BTree* const tables = trees_.find(kTablesTree)) {
    btree::Cursor cursor(*tables);
    std::string record;
    for (cursor.seek_first(); cursor.valid(); cursor.next()) {
      if (cursor.read_value(record)) {
        add(std::string(cursor.key()), definitions.read(cursor.key(), record));
      }
    }
  }
  store_.open(definitions.used(), this);
}

void TableCatalog::add(const std::string& name, std::unique_ptr<const TableDefinition> definition) {
  auto table = std::make_shared<TableState>(name, calls_);
  table->change_to(std::move(definition));
  table->end_change(true);
  const std::lock_guard lock(mutex_);
  names_[name].table = std::move(table);
}

// Inspection

TablePtr TableCatalog::find(std::string_view name, const Transaction* by) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return nullptr;
  }
  for (const TablePtr& table : {found->second.made, found->second.table}) {
    if (table != nullptr && table->visible_to(by) != nullptr) {
      return table;
    }
  }
  return nullptr;
}

std::vector<TablePtr> TableCatalog::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<TablePtr> tables;
  for (const auto& [name, entry] : names_) {
    if (entry.table != nullptr) {
      tables.push_back(entry.table);
    }
  }
  return tables;
}

std::string TableCatalog::owner_of(TreeId tree) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : names_) {
    for (const TablePtr& table : {entry.table, entry.made}) {
      const TableDefinition* const definition =
          table == nullptr ? nullptr : table->visible_to(table->definer());
      if (definition == nullptr) {
        continue;
      }
      if (definition->rows->id() == tree) {
        return fmt::format("table \"{}\"", name);
      }
      const auto index = std::ranges::find(definition->indexes, tree, &BTree::id);
      if (index != definition->indexes.end()) {
        const auto number = static_cast<std::size_t>(index - definition->indexes.begin());
        return fmt::format("table \"{}\", index \"{}\"", name,
                           definition->format->stored().indexes[number].schema.name);
      }
    }
  }
  return fmt::format("tree {}", raw(tree));
}

// Claims

/// Also notes the conflict with the definer. mutex_ is held, so the definer does not end meanwhile.
bool TableCatalog::is_changed_by_another(Transaction& by, const TableState& table) noexcept {
  const Transaction* const definer = table.definer();
  if (definer == nullptr || definer == &by) {
    return false;
  }
  by.note_definer(*definer);
  return true;
}

TableCatalog::Claimed TableCatalog::claim_name(Transaction& by, const std::string& name) {
  const std::lock_guard lock(mutex_);
  Entry& entry = names_[name];
  for (const TablePtr& there : {entry.made, entry.table}) {
    if (there == nullptr) {
      continue;
    }
    if (is_changed_by_another(by, *there)) {
      return {.table = nullptr, .outcome = outcome_at(OutcomeKind::conflict, name)};
    }
    if (there->visible_to(&by) != nullptr) {
      return {.table = nullptr, .outcome = outcome_at(OutcomeKind::exists, name)};
    }
  }
  // A table of that name that this transaction has made and dropped stays among its changes.
  Changes& changes = changes_[&by];
  auto made = std::make_shared<TableState>(name, calls_);
  changes.tables.push_back(made);
  made->begin_change(by);
  entry.made = made;
  return {.table = std::move(made), .outcome = {}};
}

void TableCatalog::release_name(const Transaction& by, const TablePtr& made) noexcept {
  const std::lock_guard lock(mutex_);
  const auto changes = changes_.find(&by);
  if (changes == changes_.end()) {
    return;  // the transaction has ended
  }
  std::erase(changes->second.tables, made);
  end_name(made, false);
  left_.splice(left_.end(), made->take_left());
}

// A committed new table becomes visible, a dropped one loses its name. mutex_ is held.
void TableCatalog::end_name(const TablePtr& table, bool committed) noexcept {
  table->end_change(committed, transactions_.now());
  const auto named = names_.find(table->name());
  if (named == names_.end()) {
    return;
  }
  Entry& entry = named->second;
  const bool counts = table->visible_to(nullptr) != nullptr;
  if (entry.made == table) {
    entry.made.reset();
    if (counts) {
      entry.table = table;
    }
  } else if (entry.table == table && !counts) {
    entry.table.reset();
  }
  if (entry.table == nullptr && entry.made == nullptr) {
    names_.erase(named);
  }
}

TableCatalog::Claimed TableCatalog::claim_now(Transaction& by, std::string_view name) {
  const auto found = names_.find(name);
  if (found == names_.end()) {
    return {.table = nullptr, .outcome = outcome_at(OutcomeKind::absent, name)};
  }
  TablePtr table;
  for (const TablePtr& there : {found->second.made, found->second.table}) {
    if (there == nullptr) {
      continue;
    }
    if (is_changed_by_another(by, *there)) {
      return {.table = nullptr, .outcome = outcome_at(OutcomeKind::conflict, name)};
    }
    if (there->visible_to(&by) != nullptr) {
      table = there;
      break;
    }
  }
  return {.table = table,
          .outcome = table == nullptr ? outcome_at(OutcomeKind::absent, name) : Outcome()};
}

TableCatalog::Claimed TableCatalog::claim_table(Transaction& by, std::string_view name) {
  Claimed claimed;
  {
    const std::lock_guard lock(mutex_);
    claimed = claim_now(by, name);
    if (claimed.table == nullptr || claimed.table->definer() == &by) {
      return claimed;
    }
    changes_[&by].tables.push_back(claimed.table);
    claimed.table->begin_change(by);
  }
  claimed.outcome = do_or_release(by, claimed.table, [&] { return wait_for_writers(by, name); });
  if (!claimed.outcome) {
    claimed.table = nullptr;
  }
  return claimed;
}

Outcome TableCatalog::wait_for_writers(const Transaction& by, std::string_view table) {
  using WriterWait = txn::Transactions::WriterWait;
  const WriterWait wait =
      transactions_.wait_for_writers(by, table, std::chrono::steady_clock::now() + patience_);
  switch (wait.end) {
    case WriterWait::End::have_ended: return {};
    case WriterWait::End::timed_out: return outcome_at(OutcomeKind::conflict, table);
    case WriterWait::End::circle: break;
  }
  return outcome_at(OutcomeKind::conflict, wait.table);
}

void TableCatalog::release_table(const Transaction& by, const TablePtr& table) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(changes_[&by].tables, table);
  table->end_change(false);
  left_.splice(left_.end(), table->take_left());
}

// Trees

BTree& TableCatalog::take_tree(const Transaction& by) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<BTree*>& taken = changes_[&by].taken;
    taken.reserve(taken.size() + 1);
  }
  BTree& tree = take_from_store(by);
  const std::lock_guard lock(mutex_);
  changes_[&by].taken.push_back(&tree);
  return tree;
}

void TableCatalog::give_tree_back(const Transaction& by, BTree& tree) noexcept {
  BTree* const given = &tree;
  {
    const std::lock_guard lock(mutex_);
    const auto changes = changes_.find(&by);
    if (changes == changes_.end()) {
      return;  // the transaction has ended, and its trees were returned
    }
    std::erase(changes->second.taken, given);
  }
  store_.give_back({&given, 1});
}

void TableCatalog::prepare_drop(const Transaction& by, std::size_t trees) {
  const std::lock_guard lock(mutex_);
  std::vector<BTree*>& dropped = changes_[&by].dropped;
  dropped.reserve(dropped.size() + trees);
}

void TableCatalog::drop_trees(const Transaction& by, std::span<BTree* const> trees) noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<BTree*>& dropped = changes_.find(&by)->second.dropped;
  dropped.insert(dropped.end(), trees.begin(), trees.end());
}

BTree& TableCatalog::tables_tree(const Transaction& by) {
  BTree* tree = trees_.find(kTablesTree);
  if (tree == nullptr) {
    tree = trees_.make(transactions_, kTablesTree, &by);
  }
  return tree != nullptr ? *tree : *trees_.find(kTablesTree);  // another thread has made it
                                                               // meanwhile
}

// Changes

template <class Work>
Outcome TableCatalog::change(Transaction& by, const CommitStatusPtr& bulk, Work&& work) {
  if (bulk == nullptr) {
    return by.statement([&](const btree::WriteContext& context) {
      by.tell_end_to(*this);
      return work(context);
    });
  }
  return change_in_bulk(by, bulk, [&] { return work(btree::WriteContext()); });
}

Outcome TableCatalog::create_table(Transaction& by, const TableSchema& schema,
                                   const CommitStatusPtr& bulk) {
  schema.validate();
  engine::require_keys_fit(schema, trees_.page_size());
  return change(by, bulk, [&](const btree::WriteContext& context) {
    return create_table_by(by, context, schema, bulk);
  });
}

Outcome TableCatalog::create_table_by(Transaction& by, const btree::WriteContext& context,
                                      const TableSchema& schema, const CommitStatusPtr& bulk) {
  if (bulk != nullptr && !sees_newest_record(by, schema.name)) {
    return outcome_at(OutcomeKind::conflict, schema.name);
  }
  Claimed claimed = claim_name(by, schema.name);
  if (!claimed.outcome) {
    return claimed.outcome;
  }
  BTree* tree = nullptr;
  try {
    tree = &take_tree(by);
    StoredTable stored{.schema = schema, .tree = tree->id()};
    const std::string record = encode_table(stored);
    auto definition = std::make_unique<TableDefinition>();
    definition->format = std::make_shared<const TableFormat>(std::move(stored));
    definition->rows = tree;
    definition->commit_status = bulk;
    claimed.table->change_to(std::move(definition));
    if (bulk != nullptr) {
      return {};
    }
    const btree::WriteOutcome outcome = tables_tree(by).insert(context, schema.name, record);
    check(!outcome.existed, "a new table has no stored definition");
    if (outcome.conflict) {  // left by an undone creation; its transaction goes on
      release_name(by, claimed.table);
      give_tree_back(by, *tree);
      return outcome_at(OutcomeKind::conflict, schema.name);
    }
  } catch (...) {
    release_name(by, claimed.table);
    if (tree != nullptr) {
      give_tree_back(by, *tree);
    }
    throw;
  }
  return {};
}

Outcome TableCatalog::drop_table(Transaction& by, std::string_view name) {
  return by.statement([&](const btree::WriteContext& context) {
    by.tell_end_to(*this);
    const Claimed claimed = claim_table(by, name);
    if (claimed.outcome) {
      const std::vector<BTree*> trees = own_trees_of(*claimed.table->visible_to(&by));
      prepare_drop(by, trees.size());
      const btree::WriteOutcome outcome = tables_tree(by).remove(context, name);
      if (outcome.conflict) {
        return outcome_at(OutcomeKind::conflict, name);
      }
      check(outcome.existed, "an existing table has a stored definition");
      claimed.table->change_to(nullptr);
      drop_trees(by, trees);
    }
    return claimed.outcome;
  });
}

Outcome TableCatalog::create_index(Transaction& by, std::string_view table,
                                   const IndexSchema& schema, const CommitStatusPtr& bulk) {
  return change(by, bulk, [&](const btree::WriteContext& context) {
    return create_index_by(by, context, table, schema, bulk);
  });
}

Outcome TableCatalog::create_index_by(Transaction& by, const btree::WriteContext& context,
                                      std::string_view name, const IndexSchema& schema,
                                      const CommitStatusPtr& bulk) {
  const Claimed claimed = bulk == nullptr ? claim_table(by, name) : claim_own(by, name, bulk);
  if (!claimed.outcome) {
    return claimed.outcome;
  }
  const TableDefinition& before = *claimed.table->visible_to(&by);
  schema.validate(before.format->schema());
  engine::require_keys_fit(before.format->schema(), schema, trees_.page_size());
  if (before.format->find_index(schema.name)) {
    return outcome_at(OutcomeKind::exists, name, schema.name);
  }
  // The index will have the current rows, so its maker must see the current rows. A bulk that
  // changes the rows was checked before it began to.
  const versioning::ReadView* const bulk_view = claimed.table->bulk_view(&by);
  if (bulk_view == nullptr && !sees_newest(by, *claimed.table)) {
    return outcome_at(OutcomeKind::conflict, name);
  }
  BTree& tree = take_tree(by);
  try {
    StoredTable stored = before.format->stored();
    stored.indexes.push_back({.schema = schema, .tree = tree.id()});
    const std::string record = encode_table(stored);
    auto definition = definition_of(std::move(stored), before);
    if (bulk_view != nullptr) {
      definition->begin_indexes_of(bulk_view->bulk);
    }
    definition->add_index(tree);
    if (auto key = build_index(transactions_, by, *definition, definition->indexes.size() - 1,
                               bulk_view, sorting_)) {
      give_tree_back(by, tree);
      return {OutcomeKind::exists,
              {.table = std::string(name), .index = schema.name, .key = *std::move(key)}};
    }
    if (bulk == nullptr) {
      const btree::WriteOutcome outcome = tables_tree(by).update(context, name, record);
      if (outcome.conflict) {
        give_tree_back(by, tree);
        return outcome_at(OutcomeKind::conflict, name);
      }
      check(outcome.existed, "an existing table has a stored definition");
    }
    claimed.table->change_to(std::move(definition));
  } catch (...) {
    give_tree_back(by, tree);
    throw;
  }
  return {};
}

Outcome TableCatalog::drop_index(Transaction& by, std::string_view name, std::string_view index) {
  return by.statement([&](const btree::WriteContext& context) -> Outcome {
    by.tell_end_to(*this);
    const Claimed claimed = claim_table(by, name);
    if (!claimed.outcome) {
      return claimed.outcome;
    }
    const TableDefinition& before = *claimed.table->visible_to(&by);
    const auto number = before.format->find_index(index);
    if (!number) {
      return outcome_at(OutcomeKind::absent, name, index);
    }
    const auto at = static_cast<std::ptrdiff_t>(*number);
    StoredTable stored = before.format->stored();
    stored.indexes.erase(stored.indexes.begin() + at);
    const std::string record = encode_table(stored);
    auto definition = definition_of(std::move(stored), before);
    BTree* const dropped = before.indexes[*number];
    definition->remove_index(*number);
    prepare_drop(by, 1);
    const btree::WriteOutcome outcome = tables_tree(by).update(context, name, record);
    if (outcome.conflict) {
      return outcome_at(OutcomeKind::conflict, name);
    }
    check(outcome.existed, "an existing table has a stored definition");
    claimed.table->change_to(std::move(definition));
    drop_trees(by, {&dropped, 1});
    return {};
  });
}

// The records are committed or undone already; this makes it visible to other transactions. Only an
// allocation could fail, and nothing here allocates.
void TableCatalog::ended(const Transaction& transaction, bool committed) noexcept {
  Changes changes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = changes_.find(&transaction);
    if (found == changes_.end()) {
      return;
    }
    changes = std::move(found->second);
    changes_.erase(found);
    for (const TablePtr& table : changes.tables) {
      end_name(table, committed);
    }
    look_after(changes.tables);
  }
  if (changes.epoch.epoch != kNoEpoch) {
    bulks_.ledger.ended(changes.epoch.epoch, committed);
    bulks_.sweep.wake();
  }
  const std::vector<BTree*>& trees = committed ? changes.dropped : changes.taken;
  store_.give_back(trees);
  const bool were_replaced = give_back_replaced();
  if (were_replaced) {
    store_.expect_some();
  }
  if (!trees.empty() || were_replaced) {
    bulks_.sweep.wake();  // a bulk held by these trees is not held any more
  }
}

}  // namespace palimpsest::engine
