// Writes rows of a table and the entries of its indexes, within one statement of a transaction: the
// statement succeeds, or leaves no trace.
//
// A statement first checks whether another transaction is changing the table's definition (a
// conflict), then uses the definition that its transaction sees.
// One visit of a leaf suffices for: insert, upsert and erase without indexes; changes of fixed
// columns that are in no index; rewriting with bytes of the same length that move no index entry.
// Otherwise the row is claimed, then read; then the entries that differ are removed and inserted;
// then the row is stored. Interleavings, with A this writer and B another:
//   B changes the row before A's claim    A's claim is a conflict until B has ended; if B has
//                                         committed or undone it, A reads what that left. Had A
//                                         read before it claimed, it would remove the entries of
//                                         a row that does not exist any more.
//   B changes the row after A's claim     B's claim is a conflict: what A has read stays true, and
//                                         so do all entries that name the row.
//   B inserts the same key into a unique  The second one finds the entry, whose record the first
//     index                               has claimed: a conflict, and exists once the first has
//                                         committed.
//   B has removed the key from it         The record of the entry, a ghost, is B's: a conflict,
//                                         until B has ended; so B can always undo.
//   upsert: B inserts the row after A     A's claim claimed nothing. A's insert finds the row, or
//     has found none                      a conflict, and A begins again with the claim.
//   B releases its records one by one     A may have the row while an entry is still B's: a
//     when it ends, or a statement of     conflict that the next attempt does not meet.
//     it is undone
// Entries are inserted after an inserted row and removed before an erased one, so that a reader
// that follows an entry mostly finds a row; it skips an entry without one.
//
// Functions of the caller (modify, rewrite) run with the leaf latched (row_change.h).
// Latching: the transaction's owner latch, held across the statement.
// Failure: Error not_found for a table that does not exist; invalid_argument for keys and rows that
// do not fit, naming table, column and limit; corruption if rows and indexes contradict each other;
// what trees and transactions throw. The statement is undone then, too.
// Thread-safety: belongs to its statement. For tables of bytes to bytes without indexes, inserting,
// rewriting or erasing a row that is not large allocates nothing but error texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/table.h"

#include "base/bytes.h"
#include "btree/btree.h"
#include "btree/leaf_walk.h"
#include "btree/write_context.h"
#include "engine/format/table_format.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/index_entries.h"
#include "engine/table/row_change.h"
#include "engine/table/table_state.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

class NewRow;

class TableWriter {
 public:
  /// Runs a statement of `in`: write(const TableWriter&) returns its outcome, with is_done().
  template <class Write>
  static Outcome statement(txn::Transaction& in, const TableState& table, const Write& write) {
    return statement(in, table, in, write);
  }
  /// By the definition that `definer` sees, for which `in` works.
  template <class Write>
  static Outcome statement(txn::Transaction& in, const TableState& table,
                           const txn::Transaction& definer, const Write& write) {
    return in.statement([&](const btree::WriteContext& by) {
      const TableDefinition* const definition = begin(in, table, definer, by);
      return definition == nullptr ? conflict_over(table)
                                   : Outcome(write(TableWriter(
                                         by, *definition, in.last_leaf(definition->rows->id()))));
    });
  }
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  ~TableWriter() = default;

  // As the functions of Table, which document the outcomes:

  [[nodiscard]] Outcome insert(const Values& row) const;
  [[nodiscard]] Outcome insert(const EncodedRow& row) const;
  [[nodiscard]] Outcome insert_many(std::span<const EncodedRow> rows) const;
  [[nodiscard]] Outcome upsert(const Values& row) const;
  [[nodiscard]] Outcome upsert(const EncodedRow& row) const;
  [[nodiscard]] Outcome update(const Key& of, const Changes& wanted) const;
  [[nodiscard]] Outcome modify(const Key& of, EditRow edit) const;
  [[nodiscard]] Outcome modify_many(std::span<const Key> of, EditRows edit) const;
  [[nodiscard]] Outcome rewrite(const Key& of, RewriteRow rewrite) const;
  [[nodiscard]] Outcome erase(const Key& key) const;
  [[nodiscard]] ErasedRange erase_range(const Range& range) const;

  // For a bulk: records of rows without their entries, and entries alone:

  [[nodiscard]] Outcome insert_records(std::span<const btree::NewRecord> records) const;
  /// Runs `work`, which appends leaves to the tree; these are not undone with the statement.
  [[nodiscard]] Outcome append(
      FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const;
  [[nodiscard]] Outcome insert_entries(std::span<const btree::NewRecord> rows) const;
  /// Erases some rows of the range, from its lower end on, and adds their number to `rows`. `next`:
  /// where to continue; empty: the range is done. For a bulk, `rows` is right even if this throws.
  [[nodiscard]] Outcome erase_some(const btree::KeyRange& range, std::uint64_t& rows,
                                   std::string& next) const;

 private:
  TableWriter(const btree::WriteContext& by, const TableDefinition& definition,
              btree::LastLeaf* last) noexcept
      : by_(&by), definition_(&definition), last_(last) {}

  /// The definition to write by; null: a conflict.
  [[nodiscard]] static const TableDefinition* begin(txn::Transaction& in, const TableState& table,
                                                    const txn::Transaction& definer,
                                                    const btree::WriteContext& by);
  static void note_definer(txn::Transaction& in, const TableState& table,
                           const txn::Transaction& of);
  [[nodiscard]] static Outcome conflict_over(const TableState& table);

  [[nodiscard]] const TableFormat& format() const noexcept { return *definition_->format; }
  [[nodiscard]] KeySpace key_space() const noexcept { return {format(), *definition_->rows}; }
  [[nodiscard]] btree::BTree& rows() const noexcept { return *definition_->rows; }
  [[nodiscard]] bool has_indexes() const noexcept { return !format().indexes().empty(); }
  [[nodiscard]] IndexEntries entries(ByteView key) const noexcept {
    return {*by_, *definition_, key};
  }
  [[nodiscard]] Outcome found(OutcomeKind kind, ByteView key) const;
  /// The outcome of a change of a row that should exist.
  [[nodiscard]] Outcome outcome_of(const btree::WriteOutcome& written, ByteView key) const;
  template <class Change>
  [[nodiscard]] std::optional<btree::WriteOutcome> modify_in_leaf(ByteView key,
                                                                  Change& change) const;
  [[nodiscard]] Outcome claim_and_read(ByteView key, std::string& row) const;
  [[nodiscard]] Outcome insert_made(NewRow& row) const;
  [[nodiscard]] Outcome upsert_made(NewRow& row) const;
  [[nodiscard]] Outcome update_claimed(ByteView key, std::span<const ColumnChange> changes) const;
  [[nodiscard]] Outcome rewrite_claimed(ByteView key, RewriteInPlace& rewrite) const;
  [[nodiscard]] Outcome erase_row(ByteView key) const;
  [[nodiscard]] Outcome replace(ByteView key, ByteView before, ByteView after) const;
  [[nodiscard]] Outcome replace(ByteView key, ByteView before, NewRow& after) const;
  [[nodiscard]] Outcome store(ByteView key, ByteView row) const;
  [[nodiscard]] Outcome erase_leaves(const btree::KeyRange& range, std::uint64_t& rows,
                                     std::string& next) const;
  [[nodiscard]] Outcome erase_one_by_one(const btree::KeyRange& range, std::uint64_t& rows,
                                         std::string& next) const;

  const btree::WriteContext* by_;
  const TableDefinition* definition_;
  btree::LastLeaf* last_;  ///< the transaction's: the leaf of the rows used last, or null
};

}  // namespace palimpsest::engine
