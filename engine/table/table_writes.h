// Writes rows of a table and the entries of its indexes, within a transaction: each call is one
// statement, done or without a trace.
//
// A call asks first whether another transaction is changing the table's definition (a conflict),
// then takes the definition that its transaction sees.
// One visit of a leaf: insert, upsert and erase without indexes; changes of fixed columns that are
//   in no index; rewriting with bytes of the same length that move no index entry.
// Otherwise the row is claimed first, then read, then the entries that differ are taken out and
//   put in, then the row is stored. What can come in between, with A this writer and B another:
//     B changes the row before A's claim    A's claim is a conflict until B has ended; if B has
//                                           committed or undone it, A reads what that left. Had A
//                                           read before it claimed, it would take out the entries
//                                           of a row that is no longer there.
//     B changes the row after A's claim     B's claim is a conflict: what A has read stays so, and
//                                           so do all entries that name the row.
//     B puts the same key into a unique     Whoever comes second finds the entry, whose record the
//       index                               first has claimed: a conflict, and exists once the
//                                           first has committed.
//     B has taken the key out of it         The record of the entry, a ghost, is B's: a conflict,
//                                           until B has ended; so B can always undo.
//     upsert: B inserts the row after A     A's claim claimed nothing. A's insert finds the row, or
//       has found none                      a conflict, and A begins again with the claim.
//     B gives up its records one by one     A may have the row while an entry is still B's: a
//       when it ends, or a statement of     conflict that the next attempt does not meet.
//       it is undone
//   Entries are put in after an inserted row and taken out before an erased one, so that a reader
//   that follows an entry finds a row in most cases; he passes over one that has none.
//
// Functions of the caller (modify, rewrite) run with the leaf latched (row_change.h).
// Latching: the transaction's owner latch, held across the call. Failure: Error not_found for a
//           table that is not there; invalid_argument for keys and rows that do not fit, naming
//           table, column and limit; corruption if rows and indexes contradict each other; what
//           trees and transactions throw. The statement is undone then, too.
// Thread-safety: as the transaction. Tables of bytes to bytes without indexes: nothing is allocated
//   to insert, rewrite or erase a row that is not large, but for text of what is refused.
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
  /// Both outlive it.
  TableWrites(txn::Transaction& in, const TableState& table) noexcept
      : TableWrites(in, table, in) {}
  /// By what the definition is for `definer`, who has `in` work for him.
  TableWrites(txn::Transaction& in, const TableState& table,
              const txn::Transaction& definer) noexcept
      : in_(&in), table_(&table), definer_(&definer) {}

  // As the functions of Table, which say what comes of them.

  Outcome insert(const Values& row) const;
  Outcome insert(const EncodedRow& row) const;
  Outcome insert_many(std::span<const EncodedRow> rows) const;

  // For a bulk: records of rows, without the entries, and the entries alone.

  Outcome insert_records(std::span<const btree::NewRecord> rows) const;
  /// What BTree appends of leaves: not undone with the call.
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
