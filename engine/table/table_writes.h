// Writes rows of a table and the entries of its indexes, within a transaction. Each call is one
// statement: it succeeds, or leaves no trace.
//
// A call first checks whether another transaction is changing the table's definition (a conflict),
// then uses the definition that its transaction sees.
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
// Latching: the transaction's owner latch, held across the call.
// Failure: Error not_found for a table that does not exist; invalid_argument for keys and rows that
// do not fit, naming table, column and limit; corruption if rows and indexes contradict each other;
// what trees and transactions throw. The statement is undone then, too.
// Thread-safety: as the transaction. For tables of bytes to bytes without indexes, inserting,
// rewriting or erasing a row that is not large allocates nothing but error texts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "palimpsest/table.h"

#include "btree/btree.h"
#include "btree/write_context.h"
#include "engine/format/table_format.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/row_change.h"
#include "engine/table/table_state.h"
#include "txn/transaction.h"

namespace palimpsest::engine {

class TableWrites {
 public:
  /// Both references outlive this.
  TableWrites(txn::Transaction& in, const TableState& table) noexcept
      : TableWrites(in, table, in) {}
  /// By the definition that `definer` sees, for which `in` works.
  TableWrites(txn::Transaction& in, const TableState& table,
              const txn::Transaction& definer) noexcept
      : in_(&in), table_(&table), definer_(&definer) {}

  // As the functions of Table, which document the outcomes:

  Outcome insert(const Values& row) const;
  Outcome insert(const EncodedRow& row) const;
  Outcome insert_many(std::span<const EncodedRow> rows) const;

  // For a bulk: records of rows without their entries, and entries alone:

  Outcome insert_records(std::span<const btree::NewRecord> rows) const;
  /// Runs `work`, which appends leaves to the tree; these are not undone with the call.
  Outcome append(FunctionRef<void(btree::BTree& rows, const btree::WriteContext& by)> work) const;
  Outcome insert_entries(std::span<const btree::NewRecord> rows) const;

  Outcome upsert(const Values& row) const;
  Outcome upsert(const EncodedRow& row) const;
  Outcome update(const Key& key, const Changes& changes) const;
  Outcome modify(const Key& key, EditRow edit) const;
  Outcome modify_many(std::span<const Key> keys, EditRows edit) const;
  Outcome rewrite(const Key& key, RewriteRow rewrite) const;
  Outcome erase(const Key& key) const;
  ErasedRange erase_range(const Range& range) const;
  /// For a bulk: a part of a range, as WriteStep::erase_some().
  Outcome erase_some(const btree::KeyRange& range, std::uint64_t& rows, std::string& next) const;

 private:
  void note_definer() const;
  template <class Work>
  Outcome statement(const Work& work) const;

  txn::Transaction* in_;
  const TableState* table_;
  const txn::Transaction* definer_;
};

}  // namespace palimpsest::engine
