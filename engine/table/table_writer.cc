#include "engine/table/table_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "palimpsest/error.h"

#include "btree/cursor.h"
#include "btree/ghost_leaf_clearing.h"
#include "bulk/range_deletion.h"
#include "engine/format/column_value.h"
#include "engine/format/value_text.h"
#include "engine/table/key_list.h"
#include "engine/table/new_row.h"
#include "engine/table/refused.h"
#include "engine/table/row_messages.h"

namespace palimpsest::engine {
namespace {

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

[[noreturn]] void refuse_large_row(const TableFormat& format, ByteView key) {
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format(
          "table \"{}\": the row of key {} is larger than about a quarter of a page "
          "and is not stored in one: it cannot be edited in place; update or rewrite it instead",
          format.schema().name, text_of_key(format.keys(), key)));
}

/// All values of a row that was read, which must be valid.
std::span<const Value> values_of(const TableFormat& format, ByteView key, ByteView row,
                                 RowValues& memory) {
  if (const auto fault = format.rows().validate(row)) {
    refuse_damaged_row(format, key, *fault);
  }
  return memory.of(format, key, row);
}

}  // namespace

// The statement

// Its caller has published that the transaction changes something before it looks for a definer:
// invariant (1) of table_state.h.
const TableDefinition* TableWriter::begin(txn::Transaction& in, const TableState& table,
                                          const txn::Transaction& definer,
                                          const btree::WriteContext& by) {
  if (table.is_changed_by_another(definer)) [[unlikely]] {
    note_definer(in, table, definer);
    return nullptr;
  }
  const TableDefinition* const definition = table.visible_to(&definer);
  if (definition == nullptr) [[unlikely]] {
    refuse_missing_table(table);
  }
  if (by.versions() != nullptr &&
      !table.is_newest_for(*definition, &definer, &by.versions()->read_view)) [[unlikely]] {
    in.note_no_conflicting_writer();
    return nullptr;  // rows in bulk, committed since: the first updater wins
  }
  clear_trees(by, *definition);
  return definition;
}

// A definer that has ended by now may be another transaction already.
void TableWriter::note_definer(txn::Transaction& in, const TableState& table,
                               const txn::Transaction& of) {
  in.note_no_conflicting_writer();
  const txn::Transaction* const definer = table.definer();
  if (definer != nullptr && definer != &of) {
    in.note_definer(*definer);
    if (table.definer() != definer) {
      in.note_no_conflicting_writer();
    }
  }
}

Outcome TableWriter::conflict_over(const TableState& table) {
  return Outcome(OutcomeKind::conflict, {.table = table.name(), .index = {}, .key = {}});
}

// Steps

/// The outcome for a row that is not claimed.
Outcome TableWriter::found(OutcomeKind kind, ByteView key) const {
  by_->note_read(rows().id(), key);
  return refused(kind, format(), key);
}

Outcome TableWriter::outcome_of(const btree::WriteOutcome& written, ByteView key) const {
  if (written.conflict) [[unlikely]] {
    return refused(OutcomeKind::conflict, format(), key);
  }
  return written.existed ? Outcome() : found(OutcomeKind::absent, key);
}

/// Nothing if the row is not in its leaf: `change` was not called, and nothing has happened.
template <class Change>
std::optional<btree::WriteOutcome> TableWriter::modify_in_leaf(ByteView key, Change& change) const {
  try {
    return rows().edit(*by_, key, change, last_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument || change.was_called()) {
      throw;
    }
    return std::nullopt;
  }
}

/// Afterwards no other transaction changes the row, nor the entries that name it.
Outcome TableWriter::claim_and_read(ByteView key, std::string& row) const {
  Outcome claimed = outcome_of(rows().claim(*by_, key, last_), key);
  if (!claimed) {
    return claimed;
  }
  if (!rows().lookup(key, row, last_, by_->newest())) {
    return refused(OutcomeKind::absent, format(), key);  // only if claims are switched off
  }
  require_fitting(format(), key, row);
  return claimed;
}

Outcome TableWriter::store(ByteView key, ByteView row) const {
  return outcome_of(rows().update(*by_, key, row, last_), key);
}

Outcome TableWriter::replace(ByteView key, ByteView before, ByteView after) const {
  if (has_indexes()) {
    RowValues memory_before;
    RowValues memory_after;
    Outcome outcome = entries(key).replace(values_of(format(), key, before, memory_before),
                                           memory_after.of(format(), key, after));
    if (!outcome) {
      return outcome;
    }
  }
  return store(key, after);
}

Outcome TableWriter::replace(ByteView key, ByteView before, NewRow& after) const {
  RowValues memory;
  Outcome outcome =
      entries(key).replace(values_of(format(), key, before, memory), after.values(format()));
  return outcome ? store(key, after.bytes()) : outcome;
}

Outcome TableWriter::insert(const Values& row) const {
  NewRow made(*definition_, row);
  return insert_made(made);
}

Outcome TableWriter::insert(const EncodedRow& row) const {
  NewRow made(*definition_, row);
  return insert_made(made);
}

Outcome TableWriter::insert_made(NewRow& row) const {
  const btree::WriteOutcome written = rows().insert(*by_, row.key(), row.bytes(), last_);
  if (written.conflict || written.existed) {
    return written.conflict ? refused(OutcomeKind::conflict, format(), row.key())
                            : found(OutcomeKind::exists, row.key());
  }
  return has_indexes() ? entries(row.key()).insert(row.values(format())) : Outcome();
}

Outcome TableWriter::insert_many(std::span<const EncodedRow> rows) const {
  if (has_indexes()) {
    for (const EncodedRow& row : rows) {
      if (Outcome outcome = insert(row); !outcome) {
        return outcome;
      }
    }
    return Outcome();
  }
  constexpr std::size_t kAtOnce = 16;
  std::array<btree::NewRecord, kAtOnce> records;
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), kAtOnce);
    std::ranges::transform(rows.first(count), records.begin(),
                           [&](const EncodedRow& row) { return record_of(*definition_, row); });
    if (Outcome outcome = insert_records(std::span(records).first(count)); !outcome) {
      return outcome;
    }
    rows = rows.subspan(count);
  }
  return Outcome();
}

Outcome TableWriter::insert_records(std::span<const btree::NewRecord> records) const {
  const btree::ManyWritten written = rows().insert_many(*by_, records, last_);
  if (written.done < records.size()) {
    const ByteView key = records[written.done].key;
    return written.refused.conflict ? refused(OutcomeKind::conflict, format(), key)
                                    : found(OutcomeKind::exists, key);
  }
  return Outcome();
}

Outcome TableWriter::append(
    FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const {
  work(rows(), *by_);
  return Outcome();
}

Outcome TableWriter::insert_entries(std::span<const btree::NewRecord> rows) const {
  RowValues memory;
  for (const btree::NewRecord& row : rows) {
    Outcome outcome = entries(row.key).insert(memory.of(format(), row.key, row.value));
    if (!outcome) {
      return outcome;
    }
  }
  return Outcome();
}

Outcome TableWriter::upsert(const Values& row) const {
  NewRow made(*definition_, row);
  return upsert_made(made);
}

Outcome TableWriter::upsert(const EncodedRow& row) const {
  NewRow made(*definition_, row);
  return upsert_made(made);
}

Outcome TableWriter::upsert_made(NewRow& row) const {
  if (!has_indexes()) {
    const btree::WriteOutcome written = rows().upsert(*by_, row.key(), row.bytes(), last_);
    return written.conflict ? refused(OutcomeKind::conflict, format(), row.key()) : Outcome();
  }
  for (;;) {
    std::string before;
    Outcome claimed = claim_and_read(row.key(), before);
    if (claimed) {
      return replace(row.key(), before, row);
    }
    if (claimed.is_conflict()) {
      return claimed;
    }
    Outcome inserted = insert_made(row);
    const bool has_come_between =
        inserted.kind() == OutcomeKind::exists && inserted.place().index.empty();
    if (!has_come_between) {
      return inserted;
    }
  }
}

Outcome TableWriter::update(const Key& of, const Changes& wanted) const {
  KeyMemory memory;
  const std::vector<ColumnChange> changes = resolve(format(), wanted);
  const ByteView key = key_space().whole(of, memory);
  if (format().is_key_value() && !has_indexes() && changes.size() == 1) {
    return store(key, changes[0].value.as_bytes());
  }
  const bool in_place = format().rows().are_in_place(changes) &&
                        std::ranges::none_of(changes, [&](const ColumnChange& change) {
                          return format().is_indexed(change.column);
                        });
  if (in_place) {
    ColumnsInPlace change(format(), key, changes);
    if (const auto written = modify_in_leaf(key, change)) {
      change.require_done();
      return outcome_of(*written, key);
    }
  }
  return update_claimed(key, changes);
}

Outcome TableWriter::update_claimed(ByteView key, std::span<const ColumnChange> changes) const {
  std::string before;
  Outcome claimed = claim_and_read(key, before);
  if (!claimed) {
    return claimed;
  }
  std::string after;
  format().rows().change(before, changes, after);
  return replace(key, before, after);
}

Outcome TableWriter::modify(const Key& of, EditRow edit) const {
  KeyMemory memory;
  const ByteView key = key_space().whole(of, memory);
  EditInPlace change(format(), key, edit);
  const auto written = modify_in_leaf(key, change);
  if (!written) {
    by_->note_read(rows().id(), key);
    refuse_large_row(format(), key);
  }
  change.require_done();
  return outcome_of(*written, key);
}

// After a refused edit, no further one is made.
Outcome TableWriter::modify_many(std::span<const Key> of, EditRows edit) const {
  const KeyList encoded(key_space(), of);
  const std::span<const ByteView> keys = encoded.keys();
  std::size_t next = 0;  // the row to be edited
  bool is_editing = false;
  const auto edit_next = [&](RowEditor& row) { edit(next, row); };
  EditInPlace change(format(), {}, edit_next);
  btree::ManyWritten written;
  try {
    written = rows().edit_many(*by_, keys, [&](std::size_t number, ValueEditor& value) {
      if (change.is_sound()) {
        next = number;
        change.turn_to(keys[number]);
        is_editing = true;  // errors thrown meanwhile are the caller's
        change(value);
        is_editing = false;
        next = number + 1;
      }
    });
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument && !is_editing && next < keys.size()) {
      change.require_done();  // reports a row before the large one
      by_->note_read(rows().id(), keys[next]);
      refuse_large_row(format(), keys[next]);
    }
    throw;
  }
  change.require_done();
  return written.done == keys.size() ? Outcome() : outcome_of(written.refused, keys[written.done]);
}

Outcome TableWriter::rewrite(const Key& of, RewriteRow rewrite) const {
  KeyMemory memory;
  const ByteView key = key_space().whole(of, memory);
  RewriteInPlace change(format(), key, rewrite);
  const auto written = modify_in_leaf(key, change);
  if (!written) {
    return rewrite_claimed(key, change);
  }
  Outcome outcome = outcome_of(*written, key);
  if (!outcome || change.is_stored()) {
    return outcome;
  }
  change.require_done();
  if (!change.moves_entries()) {
    return store(key, change.kept());
  }
  std::string before;
  outcome = claim_and_read(key, before);  // it is claimed, and unchanged since
  return outcome ? replace(key, before, change.kept()) : outcome;
}

Outcome TableWriter::rewrite_claimed(ByteView key, RewriteInPlace& rewrite) const {
  std::string before;
  Outcome claimed = claim_and_read(key, before);
  if (!claimed) {
    return claimed;
  }
  rewrite.look_at(before);
  rewrite.require_done();
  return rewrite.moves_entries() ? replace(key, before, rewrite.kept())
                                 : store(key, rewrite.kept());
}

Outcome TableWriter::erase(const Key& key) const {
  KeyMemory memory;
  return erase_row(key_space().whole(key, memory));
}

Outcome TableWriter::erase_row(ByteView key) const {
  if (has_indexes()) {
    std::string before;
    Outcome outcome = claim_and_read(key, before);
    if (outcome) {
      RowValues memory;
      outcome = entries(key).remove(values_of(format(), key, before, memory));
    }
    if (!outcome) {
      return outcome;
    }
  }
  return outcome_of(rows().remove(*by_, key, last_), key);
}

ErasedRange TableWriter::erase_range(const Range& range) const {
  const EncodedRange encoded(key_space(), range);
  ErasedRange erased;
  std::string next(encoded.keys().lower);
  do {
    const std::string from = std::exchange(next, {});
    erased.outcome = erase_some({.lower = from, .upper = encoded.keys().upper}, erased.rows, next);
  } while (erased.outcome && !next.empty());
  erased.rows = erased.outcome ? erased.rows : 0;
  return erased;
}

// With indexes, each row has to be read to find its entries.
Outcome TableWriter::erase_some(const btree::KeyRange& range, std::uint64_t& rows,
                                std::string& next) const {
  if (by_->reads() != nullptr) [[unlikely]] {
    by_->reads()->add_range(this->rows().id(), range.lower, range.upper);
  }
  return by_->is_bulk() && !has_indexes() ? erase_leaves(range, rows, next)
                                          : erase_one_by_one(range, rows, next);
}

Outcome TableWriter::erase_leaves(const btree::KeyRange& range, std::uint64_t& rows,
                                  std::string& next) const {
  const auto stop = bulk::delete_in_some_leaves(this->rows(), *by_, range, rows);
  next = stop ? stop->key : std::string();
  if (!stop || !stop->needs_removal) {
    return Outcome();
  }
  Outcome outcome = erase_row(next);
  rows += outcome ? 1U : 0U;
  return outcome;
}

// A row that is gone by then was erased by another transaction.
Outcome TableWriter::erase_one_by_one(const btree::KeyRange& range, std::uint64_t& rows,
                                      std::string& next) const {
  constexpr std::size_t kRowsAtATime = 1000;
  const versioning::ReadView* const read_view =
      by_->versions() != nullptr ? &by_->versions()->read_view : by_->newest();
  btree::Cursor cursor(this->rows(), kRowsAtATime, read_view);
  cursor.bound_to(range);
  cursor.seek_first();
  std::uint64_t erased = 0;
  for (std::size_t count = 0; count < kRowsAtATime && cursor.valid(); ++count, cursor.next()) {
    Outcome outcome = erase_row(cursor.key());
    if (!outcome && outcome.kind() != OutcomeKind::absent) {
      return outcome;
    }
    erased += outcome ? 1U : 0U;
  }
  next = cursor.valid() ? cursor.key() : ByteView();
  rows += erased;
  return Outcome();
}

}  // namespace palimpsest::engine
