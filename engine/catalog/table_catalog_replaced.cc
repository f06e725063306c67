// Releases replaced definitions (table/table_state.h), and returns their trees, when no reader
// needs them any more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <new>
#include <string>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "engine/catalog/table_catalog.h"

namespace palimpsest::engine {

using btree::BTree;
using txn::Transaction;

/// Called after changes of these tables.
void TableCatalog::look_after(std::list<TablePtr>& tables) noexcept {
  for (auto table = tables.begin(); table != tables.end();) {
    const auto next = std::next(table);
    left_.splice(left_.end(), (*table)->take_left());
    if ((*table)->has_past() && std::ranges::find(with_past_, *table) == with_past_.end()) {
      with_past_.splice(with_past_.end(), tables, table);
    }
    table = next;
  }
}

void TableCatalog::let_go_past() noexcept {
  if (with_past_.empty()) {
    return;
  }
  try {
    transactions_.scan_snapshots(scan_);
  } catch (const std::bad_alloc&) {
    return;  // left to the next call
  }
  for (const TablePtr& table : with_past_) {
    table->let_go_past(scan_);
    left_.splice(left_.end(), table->take_left());
  }
  std::erase_if(with_past_, [](const TablePtr& table) { return !table->has_past(); });
}

/// Takes from left_ the definitions that no reader uses any more.
KeptDefinitions TableCatalog::take_gone() noexcept {
  KeptDefinitions gone;
  for (auto kept = left_.begin(); kept != left_.end() && calls_->have_left(kept->left);) {
    const auto next = std::next(kept);
    const TreesLife& life = *kept->definition->life;
    if (!kept->gives_trees || life.readers.load() == 0 || life.are_gone.load()) {
      gone.splice(gone.end(), left_, kept);
    }
    kept = next;
  }
  return gone;
}

bool TableCatalog::give_back_replaced() noexcept {
  KeptDefinitions gone;
  bool are_left = false;
  {
    const std::lock_guard lock(mutex_);
    let_go_past();
    gone = take_gone();
    are_left = !with_past_.empty() || !left_.empty();
  }
  for (const KeptDefinition& kept : gone) {
    if (kept.gives_trees) {
      const TableDefinition& definition = *kept.definition;
      definition.life->are_gone.store(true, std::memory_order_release);
      PALIMPSEST_SYNC_POINT("engine.definition.gone");
      store_.give_back(std::array{definition.rows});
      store_.give_back(definition.indexes);
    }
  }
  return are_left;
}

std::string TableCatalog::held_back() const {
  std::size_t trees = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const TablePtr& table : with_past_) {
      trees += table->past_trees();
    }
    for (const KeptDefinition& kept : left_) {
      trees += kept.gives_trees ? 1 + kept.definition->indexes.size() : 0;
    }
  }
  const auto reader = transactions_.oldest_reader();
  if (trees == 0) {
    return {};
  }
  const std::string held = fmt::format(
      "{} trees replaced by bulks and alterations are kept for readers that are still open", trees);
  if (!reader) {
    return held;
  }
  return fmt::format("{}; the oldest, {} in slot {}, began {:.1f} s ago and must end first", held,
                     reader->only_reads ? "a read-only transaction, or a cursor," : "a transaction",
                     raw(reader->slot), std::chrono::duration<double>(reader->age).count());
}

BTree& TableCatalog::take_from_store(const Transaction& by) {
  try {
    return store_.take(by);
  } catch (const Error& error) {
    const std::string held = error.code() == ErrorCode::out_of_memory ? held_back() : std::string();
    if (held.empty()) {
      throw;
    }
    throw Error(error.code(), fmt::format("{}; {}", error.what(), held));
  }
}

}  // namespace palimpsest::engine
