// A transaction: changes of rows, tables and indexes that take effect together or not at all.
//
//   Transaction transaction = database.begin();
//   accounts.insert(transaction, {7, "Ada"}).require();
//   transaction.commit();
//
// The destructor of a transaction that was not committed rolls it back. A transaction may move
// between threads; calls from several threads run one at a time. The rows of a cursor belong to the
// cursor's thread.
// Isolation: below, and docs/guarantees.md. At every level a transaction is atomic and durable, and
// a row that an open transaction has changed cannot be changed by another one: a conflict.
// The engine rolls back a transaction that pins the log for too long: every later call throws
// transaction_too_old. A transaction whose snapshot needs more versions than there is memory for
// (Options::version_bytes_max) can no longer read: snapshot_too_old. Database::run() retries both.
//
// Definitions (schema changes): tables and indexes are created and dropped within a transaction; it
// sees the change at once, other transactions after it has committed. A transaction that changes
// the definition of an existing table waits for the end of all transactions that have changed
// anything (Options::definition_patience). Until it ends, other writers to that table are in
// conflict, and readers see the table as it was. Handles of tables (table.h) follow the new
// definition.
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
  asynchronous,    ///< at once; crash-safe after Options::asynchronous_interval
};

/// What a transaction sees of other transactions, and which of their changes it may overwrite.
enum class Isolation : std::uint8_t {
  by_default = 0,  ///< as Options::isolation says
  /// Sees the newest state, committed or not; its own changes are visible to all at once. For
  /// measuring.
  none,
  /// Each call sees what was committed when the call began. A cursor keeps seeing what was
  /// committed when it was opened, and counts as another transaction in Options::max_transactions.
  read_committed,
  /// All calls see what was committed when the transaction began, and its own changes. It cannot
  /// change a row of which another transaction has committed a change since then: a conflict (first
  /// updater wins).
  snapshot,
  /// As snapshot, and what the transaction has read is still the same when it commits: together,
  /// serializable transactions have the effect of running one after the other, in the order of
  /// their commits. commit() throws not_serializable if another transaction, at any level but none,
  /// has committed a change of a row that this one has read or would have read. A transaction
  /// without changes always commits. Rows are compared, not columns. Precision locking, HyPer-MVCC
  /// 2.3.
  serializable,
};

struct TransactionOptions {
  Durability durability = Durability::by_default;
  Isolation isolation = Isolation::by_default;
  /// Refuses writes: Error invalid_argument.
  bool read_only = false;
  /// A bulk changes any number of rows: it keeps no versions, pins no log, and rolls back at once.
  /// Until it has committed, other transactions see its tables as they were before, and their
  /// writes to them are conflicts. Its first write to a table waits for the end of other writers
  /// (else a conflict) and, if the table has rows, until no reader sees the table as before its
  /// last bulk (else Error gate_timeout). A bulk cannot drop tables or indexes. Its default
  /// isolation is read_committed, since a snapshot would retain versions of other transactions for
  /// as long; serializable is refused (Error invalid_argument). A writing call counts as another
  /// transaction in Options::max_transactions. Umbra-MVCC 3.2.
  bool bulk = false;
  /// About how many rows it will change. If that many versions exceed one transaction's share of
  /// the version memory (Options::version_bytes_max), it begins as a bulk.
  std::uint64_t expected_changes = 0;
};

class Transaction {
 public:
  /// Made by Database::begin().
  explicit Transaction(std::unique_ptr<detail::TransactionState> state) noexcept;
  Transaction(Transaction&&) noexcept;
  /// Rolls back the transaction that it replaces, unless that has ended.
  Transaction& operator=(Transaction&&) noexcept;
  /// Rolls back unless the transaction has ended.
  ~Transaction();

  /// Commits and ends the transaction. Exceptions:
  /// - invalid_argument: it has ended before.
  /// - transaction_too_old, snapshot_too_old, not_serializable: it has not committed, and cannot;
  ///   if it is no longer active, it has been rolled back.
  /// - no_space, io_error: it has not committed; try again or roll back. But no_space is final if
  ///   the engine has rolled it back because the log has too little room for it.
  /// - of a bulk, conflict: another transaction has changed the same definitions; failed: one of
  ///   its calls has failed half-way, so it must be rolled back.
  /// - failed, otherwise: it may have committed; reopening the database shows whether it has.
  void commit();
  /// Undoes all changes and ends the transaction; works on a full disk. Throws io_error, corruption
  /// if something cannot be undone: the database has then failed, and reopening it completes the
  /// rollback.
  void rollback();
  /// Neither committed nor rolled back.
  [[nodiscard]] bool is_active() const noexcept;

  /// Creates a table. Exists if there is one of that name; conflict if another open transaction
  /// creates or drops one of that name. Throws invalid_argument for an invalid schema.
  Outcome create_table(const TableSchema& schema);
  /// Drops a table with its indexes. Its pages are freed in the background, after the commit.
  Outcome drop_table(std::string_view table);
  /// Creates an index of a table, with entries for its existing rows, any number of them, in little
  /// memory. Exists if there is an index of that name, or if it is unique and two rows are not.
  /// Conflict under `snapshot` if other transactions have changed rows of the table since this one
  /// began.
  Outcome create_index(std::string_view table, const IndexSchema& schema);
  Outcome drop_index(std::string_view table, std::string_view index);

  // Altering requires a bulk transaction (TransactionOptions::bulk), else Error invalid_argument.
  // All rows are rewritten, in order, with their indexes. Until the bulk commits, other
  // transactions read the table as it was, with its old columns; older snapshots do so after that,
  // too. The old trees are emptied in the background once no reader needs them. Altering a table
  // again ends this transaction's own cursors over the earlier alteration.
  // Outcomes: absent; conflict if other transactions change the table or its definition, or have
  // done so since the snapshot of a bulk that has one; exists if two rows become equal in a unique
  // index. Throws invalid_argument, naming column and row, for an impossible alteration, and for a
  // table that this bulk has changed in place; no_space, out_of_memory, snapshot_too_old. If it is
  // not done, the table is as it was.
  // Columns, structs and encoders made before (column.h, table_of.h, row_encoder.h) are then
  // refused.

  /// Drops every column that is not listed, including those added since the caller read the schema.
  Outcome alter_table(std::string_view table, const TableAlteration& alteration);
  Outcome alter_table(std::string_view table, const TableAlteration& alteration,
                      ConvertRow convert);
  /// Appends a column with that value in all rows.
  Outcome add_column(std::string_view table, const ColumnDefinition& column,
                     const Value& value = {});
  /// The column must be neither in the key nor in an index.
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
