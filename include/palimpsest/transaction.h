// A transaction: changes of rows, tables and indexes that count together or not at all.
//
//   Transaction transaction = database.begin();
//   accounts.insert(transaction, {7, "Ada"}).require();
//   transaction.commit();
//
// Who drops a transaction without commit() rolls it back. It may move between threads, and calls
// from several threads take turns; a cursor's rows are its own thread's.
// Isolation: below, and docs/guarantees.md. At every level a transaction is atomic and durable, and
// a row changed by an open transaction cannot be changed by another: a conflict.
// The engine itself rolls a transaction back that holds back the log for too long: every later call
// throws transaction_too_old. One whose snapshot keeps more versions of rows than there is memory
// for (Options::version_bytes_max) cannot read any more: snapshot_too_old. Database::run() tries
// both again.
//
// Definitions: tables and indexes are made and dropped within a transaction, seen by itself at once
// and by others once it has committed. A transaction that changes an existing table's definition
// waits until all transactions that have changed anything have ended (DefinitionOptions), and until
// it ends, others that write to that table are in conflict; they read it as it was.
// Handles of tables (table.h) go on with the new definition.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "palimpsest/outcome.h"
#include "palimpsest/schema.h"
#include "palimpsest/table_alteration.h"
#include "palimpsest/value.h"

namespace palimpsest {

class Table;

namespace detail {
class Attempts;
class TableHandle;       // the engine's
class TransactionState;  // the engine's
}  // namespace detail

/// When commit() returns.
enum class Durability : std::uint8_t {
  by_default = 0,  ///< as Options::durability says
  synchronous,     ///< when the transaction survives any crash
  asynchronous,    ///< at once; after Options::asynchronous_interval it survives crashes, too
};

/// What a transaction sees of others, and which of their changes it may write over.
enum class Isolation : std::uint8_t {
  by_default = 0,  ///< as Options::isolation says
  /// The newest of everything, committed or not; what it changes, others see at once. For
  /// measuring.
  none,
  /// Each call sees what had been committed when the call began. A cursor keeps seeing what had
  /// been committed when it was opened, and is a transaction more of Options::max_transactions.
  read_committed,
  /// All calls see what had been committed when the transaction began, and its own changes. A row
  /// that another has changed and committed since then cannot be changed: a conflict (the first
  /// updater wins).
  snapshot,
  /// As snapshot, and what the transaction has read is the same when it commits: together, such
  /// transactions do what they would have done one after the other, in the order of their commits.
  /// If another, of whatever level but none, has committed a change of a row that this one has
  /// read, or of one that it would have read, commit() throws not_serializable. One that has
  /// changed nothing commits always. Rows are told apart, not their columns. Precision locking,
  /// HyPer-MVCC 2.3.
  serializable,
};

struct TransactionOptions {
  Durability durability = Durability::by_default;
  Isolation isolation = Isolation::by_default;
  /// Writes are refused: Error invalid_argument.
  bool read_only = false;
  /// Changes any number of rows: it keeps no versions, holds back no log, and is rolled back in an
  /// instant. Others see its tables as they were before until it has committed; their writes to
  /// these are conflicts. Its first write to a table waits until others that have written have
  /// ended (else a conflict), and, if the table has rows, until nobody reads what was there before
  /// the last bulk of that table (else Error gate_timeout). It drops nothing. Its isolation, unless
  /// it is said, is read_committed: a snapshot would have others' versions kept for as long; not
  /// serializable (Error invalid_argument). It
  /// takes one of Options::max_transactions more while a call writes. Umbra-MVCC 3.2.
  bool bulk = false;
  /// Rows that it will change, about: if the versions of so many do not fit into the memory that
  /// there is for one transaction's (Options::version_bytes_max), it begins as a bulk.
  std::uint64_t expected_changes = 0;
};

class Transaction {
 public:
  /// By Database::begin().
  explicit Transaction(std::unique_ptr<detail::TransactionState> state) noexcept;
  Transaction(Transaction&&) noexcept;
  /// Rolls back what it was before.
  Transaction& operator=(Transaction&&) noexcept;
  /// Rolls back unless it has ended.
  ~Transaction();

  /// Ends it. Throws invalid_argument if it has ended before; transaction_too_old,
  /// snapshot_too_old, not_serializable: it has not committed, and cannot; if it is not active any
  /// more, it has been rolled back. Throws no_space, io_error before it has committed: it may be
  /// tried again, or rolled back; but no_space of one that was rolled back, for the log has too
  /// little room for it, stays. A bulk also throws conflict, if another has changed the same
  /// definitions, and failed, if one of its calls has failed half-way: it is to be rolled back.
  /// Throws failed after it may have committed: whether it has is known once the database has been
  /// opened again.
  void commit();
  /// Ends it and undoes all its changes; works on a full disk. Throws io_error, corruption if
  /// something cannot be undone: the database has failed then, and opening it again will do it.
  void rollback();
  /// Neither committed nor rolled back.
  [[nodiscard]] bool is_active() const noexcept;

  /// Makes a table. Exists if there is one of that name; conflict if another transaction is about
  /// to make or drop one. Throws invalid_argument for a schema that is none.
  Outcome create_table(const TableSchema& schema);
  /// Drops a table with its indexes. Its pages come back in the background, after the commit.
  Outcome drop_table(std::string_view table);
  /// Makes an index of a table, with entries for the rows that are there: of any number, in little
  /// memory. Exists if there is an index of that name, or if it is unique and two rows are not.
  /// Conflict under `snapshot` if others have changed rows of the table since the transaction
  /// began.
  Outcome create_index(std::string_view table, const IndexSchema& schema);
  Outcome drop_index(std::string_view table, std::string_view index);

  // Altering: in a bulk transaction (TransactionOptions::bulk), else Error invalid_argument. All
  // rows are made anew, in order, with their indexes; what was there before, its pages and its
  // place among the trees that memory has room for, is given back when the database is opened
  // again. Others read the table as it was, by its old columns, until the bulk commits, and if
  // their snapshot is older, after that; cursors of this transaction over what it has altered once
  // end when it does so again. Outcomes: absent; conflict if others change the table or its
  // definition, or have since the snapshot of a bulk that has one; exists if two rows become equal
  // in a unique index. Throws invalid_argument, which names column and row, for what cannot be, and
  // for a table whose rows this bulk has changed where they lie; no_space, out_of_memory,
  // snapshot_too_old. If it is not done, the table is as it was.
  // Columns, structs and encoders of before (column.h, table_of.h, row_encoder.h) are refused then.

  /// Columns that others have added since they were looked at, and that are not named, are gone.
  Outcome alter_table(std::string_view table, const TableAlteration& alteration);
  Outcome alter_table(std::string_view table, const TableAlteration& alteration,
                      ConvertRow convert);
  /// Behind the others, with that value in all rows.
  Outcome add_column(std::string_view table, const ColumnDefinition& column,
                     const Value& value = {});
  /// One that is neither in the key nor in an index.
  Outcome drop_column(std::string_view table, std::string_view column);
  Outcome rename_column(std::string_view table, std::string_view from, std::string_view to);

  /// The table as this transaction sees it. Throws not_found if there is none.
  [[nodiscard]] Table table(std::string_view name);

 private:
  friend class detail::Attempts;
  friend class detail::TableHandle;
  friend class Database;

  [[nodiscard]] detail::TransactionState& state() const;
  void unbind() noexcept;

  std::unique_ptr<detail::TransactionState> state_;
};

}  // namespace palimpsest
