#include "engine/table/table_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "btree/ghost_leaf_clearing.h"
#include "engine/format/column_value.h"
#include "engine/table/key_list.h"
#include "engine/table/write_step.h"

namespace palimpsest::engine {
namespace {

[[noreturn]] void refuse_column(const TableFormat& format, std::string_view column,
                                std::string_view why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\", column \"{}\": {}", format.schema().name, column, why));
}

/// Changes that fit their columns, which are distinct and in the row.
std::vector<ColumnChange> resolve(const TableFormat& format, const Changes& changes) {
  std::vector<ColumnChange> resolved;
  resolved.reserve(changes.span().size());
  for (const Change& change : changes.span()) {
    const auto column = format.rows().find_column(change.column);
    if (!column) {
      refuse_column(format, change.column, "there is no such column");
    }
    if (format.key_position(*column)) {
      refuse_column(format, change.column, "a column of the key cannot be changed");
    }
    if (std::ranges::find(resolved, *column, &ColumnChange::column) != resolved.end()) {
      refuse_column(format, change.column, "it is changed twice in one call");
    }
    require_fit(format.schema().name, format.schema().columns[*column], change.value);
    resolved.push_back({.column = *column, .value = change.value});
  }
  return resolved;
}

/// Purges a leaf of this tree that the slot's transactions have filled with unneeded ghosts, if a
/// hint names one (versioning/ghost_hints.h).
void purge_hinted_ghost(const btree::WriteContext& by, btree::BTree& tree) noexcept {
  const std::optional<std::string> key = by.versions()->buffer.take_ghost_hint(tree.id());
  if (!key) [[likely]] {
    return;
  }
  try {
    tree.purge_ghosts(by, *key, [](const btree::LeafView&, btree::SlotIndex) { return true; });
  } catch (const std::exception&) {
    return;  // not the caller's concern; if it matters, the call's own work meets the error
  }
}

/// Also purges leaves without records that scans have met.
void clear_tree(const btree::WriteContext& by, btree::BTree& tree) noexcept {
  if (by.versions() != nullptr) {
    purge_hinted_ghost(by, tree);
  }
  btree::clear_ghost_leaves(tree, by);
}

void clear_trees(const btree::WriteContext& by, const TableDefinition& definition) noexcept {
  clear_tree(by, *definition.rows);
  for (btree::BTree* const index : definition.indexes) {
    clear_tree(by, *index);
  }
}

}  // namespace

// The transaction publishes that it changes something before it checks for a definer: invariant (1)
// of table_state.h.
template <class Work>
Outcome TableWrites::statement(const Work& work) const {
  return in_->statement([&](const btree::WriteContext& by) {
    const auto conflict = [&] {
      return Outcome(OutcomeKind::conflict, {.table = table_->name(), .index = {}, .key = {}});
    };
    if (table_->is_changed_by_another(*definer_)) [[unlikely]] {
      note_definer();
      return conflict();
    }
    const TableDefinition* const definition = table_->visible_to(definer_);
    if (definition == nullptr) [[unlikely]] {
      refuse_missing_table(*table_);
    }
    if (by.versions() != nullptr &&
        !table_->is_newest_for(*definition, definer_, &by.versions()->read_view)) [[unlikely]] {
      in_->note_no_conflicting_writer();
      return conflict();  // rows in bulk, committed since: the first updater wins
    }
    clear_trees(by, *definition);
    return work(WriteStep(by, *definition, in_->last_leaf(definition->rows->id())));
  });
}

// A definer that has ended by now may be another transaction already.
void TableWrites::note_definer() const {
  in_->note_no_conflicting_writer();
  const txn::Transaction* const definer = table_->definer();
  if (definer != nullptr && definer != definer_) {
    in_->note_definer(*definer);
    if (table_->definer() != definer) {
      in_->note_no_conflicting_writer();
    }
  }
}

Outcome TableWrites::insert(const Values& row) const {
  return statement([&](const WriteStep& step) {
    NewRow made(step.definition(), row);
    return step.insert(made);
  });
}

Outcome TableWrites::insert(const EncodedRow& row) const {
  return statement([&](const WriteStep& step) {
    NewRow made(step.definition(), row);
    return step.insert(made);
  });
}

Outcome TableWrites::insert_many(std::span<const EncodedRow> rows) const {
  return statement([&](const WriteStep& step) { return step.insert_many(rows); });
}

Outcome TableWrites::insert_records(std::span<const btree::NewRecord> rows) const {
  return statement([&](const WriteStep& step) { return step.insert_records(rows); });
}

Outcome TableWrites::append(
    FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const {
  return statement([&](const WriteStep& step) { return step.append(work); });
}

Outcome TableWrites::insert_entries(std::span<const btree::NewRecord> rows) const {
  return statement([&](const WriteStep& step) { return step.insert_entries(rows); });
}

Outcome TableWrites::upsert(const Values& row) const {
  return statement([&](const WriteStep& step) {
    NewRow made(step.definition(), row);
    return step.upsert(made);
  });
}

Outcome TableWrites::upsert(const EncodedRow& row) const {
  return statement([&](const WriteStep& step) {
    NewRow made(step.definition(), row);
    return step.upsert(made);
  });
}

Outcome TableWrites::update(const Key& key, const Changes& changes) const {
  return statement([&](const WriteStep& step) {
    KeyMemory memory;
    const std::vector<ColumnChange> resolved = resolve(step.format(), changes);
    return step.update(step.key_space().whole(key, memory), resolved);
  });
}

Outcome TableWrites::modify(const Key& key, EditRow edit) const {
  return statement([&](const WriteStep& step) {
    KeyMemory memory;
    return step.modify(step.key_space().whole(key, memory), edit);
  });
}

Outcome TableWrites::modify_many(std::span<const Key> keys, EditRows edit) const {
  return statement([&](const WriteStep& step) {
    const KeyList encoded(step.key_space(), keys);
    return step.modify_many(encoded.keys(), edit);
  });
}

Outcome TableWrites::rewrite(const Key& key, RewriteRow rewrite) const {
  return statement([&](const WriteStep& step) {
    KeyMemory memory;
    return step.rewrite(step.key_space().whole(key, memory), rewrite);
  });
}

Outcome TableWrites::erase(const Key& key) const {
  return statement([&](const WriteStep& step) {
    KeyMemory memory;
    return step.erase(step.key_space().whole(key, memory));
  });
}

ErasedRange TableWrites::erase_range(const Range& range) const {
  ErasedRange erased;
  erased.outcome = statement([&](const WriteStep& step) {
    const EncodedRange encoded(step.key_space(), range);
    std::string next(encoded.keys().lower);
    Outcome outcome;
    do {
      const std::string from = std::exchange(next, {});
      outcome = step.erase_some({.lower = from, .upper = encoded.keys().upper}, erased.rows, next);
    } while (outcome && !next.empty());
    return outcome;
  });
  erased.rows = erased.outcome ? erased.rows : 0;
  return erased;
}

Outcome TableWrites::erase_some(const btree::KeyRange& range, std::uint64_t& rows,
                                std::string& next) const {
  return statement([&](const WriteStep& step) { return step.erase_some(range, rows, next); });
}

}  // namespace palimpsest::engine
