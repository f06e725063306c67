#include "engine/table/write_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "palimpsest/error.h"

#include "btree/cursor.h"
#include "bulk/range_deletion.h"
#include "engine/format/column_value.h"
#include "engine/format/value_text.h"
#include "engine/table/refused.h"
#include "engine/table/row_messages.h"

namespace palimpsest::engine {
namespace {

[[noreturn]] void refuse_row(const TableFormat& format, const std::string& why) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("table \"{}\": {}", format.schema().name, why));
}

[[noreturn]] void refuse_large_row(const TableFormat& format, ByteView key) {
  refuse_row(
      format,
      fmt::format("the row of key {} is larger than about a quarter of a page and is not stored in "
                  "one: it cannot be edited in place; update or rewrite it instead",
                  text_of_key(format.keys(), key)));
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

// Rows to be written

btree::NewRecord record_of(const TableDefinition& definition, std::span<const Value> values,
                           KeyMemory& key_memory, std::string& row_memory) {
  const TableFormat& format = *definition.format;
  const TableSchema& schema = format.schema();
  if (values.size() != schema.columns.size()) [[unlikely]] {
    refuse_row(format, fmt::format("a row of {} values: the table has {} columns", values.size(),
                                   schema.columns.size()));
  }
  const ByteView key = KeySpace(format, *definition.rows).whole_of_row(values, key_memory);
  if (format.is_key_value()) {
    const std::size_t column = 1 - format.keys().columns()[0];
    require_fit(schema.name, schema.columns[column], values[column]);
    return {key, values[column].as_bytes()};
  }
  format.rows().encode(values, row_memory);
  return {key, row_memory};
}

NewRow::NewRow(const TableDefinition& definition, const Values& row) : values_(row.span()) {
  const auto& [key, bytes] = record_of(definition, values_, key_memory_, encoded_);
  key_ = key;
  bytes_ = bytes;
}

NewRow::NewRow(const TableDefinition& definition, const EncodedRow& row) {
  const auto& [key, bytes] = record_of(definition, row);
  key_ = key;
  bytes_ = bytes;
}

btree::NewRecord record_of(const TableDefinition& definition, const EncodedRow& row) {
  const TableFormat& format = *definition.format;
  if (row.layout != 0 && row.layout != format.layout) [[unlikely]] {
    refuse_row(format, "the row was encoded for another table, or for this one with other columns");
  }
  const KeySpace keys(format, *definition.rows);
  if (format.is_key_value()) {
    keys.require_whole(row.key);
    if (row.bytes.size() > kRowBytesMax) [[unlikely]] {
      refuse_row(format,
                 fmt::format("a row of {} bytes beside its key is too long: the longest has {}",
                             row.bytes.size(), kRowBytesMax));
    }
    return {row.key, row.bytes};
  }
  if (format.keys().is_surely_valid(row.key)) [[likely]] {
    keys.require_length(row.key.size());
  } else {
    keys.require_whole(row.key);
    DecodedKey decoded;
    if (const auto fault = format.keys().decode(row.key, decoded)) {
      refuse_row(format, *fault);
    }
  }
  if (const auto fault = format.rows().validate(row.bytes)) {
    refuse_row(format, *fault);
  }
  return {row.key, row.bytes};
}

std::span<const Value> NewRow::values(const TableFormat& format) {
  if (values_.empty()) {
    values_ = decoded_.of(format, key_, bytes_);
  }
  return values_;
}

// Steps

/// The outcome for a row that is not claimed.
Outcome WriteStep::found(OutcomeKind kind, ByteView key) const {
  by_->note_read(rows().id(), key);
  return refused(kind, format(), key);
}

Outcome WriteStep::outcome_of(const btree::WriteOutcome& written, ByteView key) const {
  if (written.conflict) [[unlikely]] {
    return refused(OutcomeKind::conflict, format(), key);
  }
  return written.existed ? Outcome() : found(OutcomeKind::absent, key);
}

/// Nothing if the row is not in its leaf: `change` was not called, and nothing has happened.
template <class Change>
std::optional<btree::WriteOutcome> WriteStep::modify_in_leaf(ByteView key, Change& change) const {
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
Outcome WriteStep::claim_and_read(ByteView key, std::string& row) const {
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

Outcome WriteStep::store(ByteView key, ByteView row) const {
  return outcome_of(rows().update(*by_, key, row, last_), key);
}

Outcome WriteStep::replace(ByteView key, ByteView before, ByteView after) const {
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

Outcome WriteStep::replace(ByteView key, ByteView before, NewRow& after) const {
  RowValues memory;
  Outcome outcome =
      entries(key).replace(values_of(format(), key, before, memory), after.values(format()));
  return outcome ? store(key, after.bytes()) : outcome;
}

Outcome WriteStep::insert(NewRow& row) const {
  const btree::WriteOutcome written = rows().insert(*by_, row.key(), row.bytes(), last_);
  if (written.conflict || written.existed) {
    return written.conflict ? refused(OutcomeKind::conflict, format(), row.key())
                            : found(OutcomeKind::exists, row.key());
  }
  return has_indexes() ? entries(row.key()).insert(row.values(format())) : Outcome();
}

Outcome WriteStep::insert_many(std::span<const EncodedRow> rows) const {
  if (has_indexes()) {
    for (const EncodedRow& row : rows) {
      NewRow made(definition(), row);
      if (Outcome outcome = insert(made); !outcome) {
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
                           [&](const EncodedRow& row) { return record_of(definition(), row); });
    if (Outcome outcome = insert_records(std::span(records).first(count)); !outcome) {
      return outcome;
    }
    rows = rows.subspan(count);
  }
  return Outcome();
}

Outcome WriteStep::insert_records(std::span<const btree::NewRecord> records) const {
  const btree::ManyWritten written = rows().insert_many(*by_, records, last_);
  if (written.done < records.size()) {
    const ByteView key = records[written.done].key;
    return written.refused.conflict ? refused(OutcomeKind::conflict, format(), key)
                                    : found(OutcomeKind::exists, key);
  }
  return Outcome();
}

Outcome WriteStep::append(
    FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const {
  work(rows(), *by_);
  return Outcome();
}

Outcome WriteStep::insert_entries(std::span<const btree::NewRecord> rows) const {
  RowValues memory;
  for (const btree::NewRecord& row : rows) {
    Outcome outcome = entries(row.key).insert(memory.of(format(), row.key, row.value));
    if (!outcome) {
      return outcome;
    }
  }
  return Outcome();
}

Outcome WriteStep::upsert(NewRow& row) const {
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
    Outcome inserted = insert(row);
    const bool has_come_between =
        inserted.kind() == OutcomeKind::exists && inserted.place().index.empty();
    if (!has_come_between) {
      return inserted;
    }
  }
}

Outcome WriteStep::update(ByteView key, std::span<const ColumnChange> changes) const {
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

Outcome WriteStep::update_claimed(ByteView key, std::span<const ColumnChange> changes) const {
  std::string before;
  Outcome claimed = claim_and_read(key, before);
  if (!claimed) {
    return claimed;
  }
  std::string after;
  format().rows().change(before, changes, after);
  return replace(key, before, after);
}

Outcome WriteStep::modify(ByteView key, EditRow edit) const {
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
Outcome WriteStep::modify_many(std::span<const ByteView> keys, EditRows edit) const {
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

Outcome WriteStep::rewrite(ByteView key, RewriteRow rewrite) const {
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

Outcome WriteStep::rewrite_claimed(ByteView key, RewriteInPlace& rewrite) const {
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

Outcome WriteStep::erase(ByteView key) const {
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

// With indexes, each row has to be read to find its entries.
Outcome WriteStep::erase_some(const btree::KeyRange& range, std::uint64_t& rows,
                              std::string& next) const {
  if (by_->reads() != nullptr) [[unlikely]] {
    by_->reads()->add_range(this->rows().id(), range.lower, range.upper);
  }
  return by_->is_bulk() && !has_indexes() ? erase_leaves(range, rows, next)
                                          : erase_one_by_one(range, rows, next);
}

Outcome WriteStep::erase_leaves(const btree::KeyRange& range, std::uint64_t& rows,
                                std::string& next) const {
  const auto stop = bulk::delete_in_some_leaves(this->rows(), *by_, range, rows);
  next = stop ? stop->key : std::string();
  if (!stop || !stop->needs_removal) {
    return Outcome();
  }
  Outcome outcome = erase(next);
  rows += outcome ? 1U : 0U;
  return outcome;
}

// A row that is gone by then was erased by another transaction.
Outcome WriteStep::erase_one_by_one(const btree::KeyRange& range, std::uint64_t& rows,
                                    std::string& next) const {
  constexpr std::size_t kRowsAtATime = 1000;
  const versioning::ReadView* const read_view =
      by_->versions() != nullptr ? &by_->versions()->read_view : by_->newest();
  btree::Cursor cursor(this->rows(), kRowsAtATime, read_view);
  cursor.bound_to(range);
  cursor.seek_first();
  std::uint64_t erased = 0;
  for (std::size_t count = 0; count < kRowsAtATime && cursor.valid(); ++count, cursor.next()) {
    Outcome outcome = erase(cursor.key());
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
