// A database in a directory.
//
//   Database database = Database::open("shop");
//   Table accounts = database.create_table({.name = "account",
//                                           .columns = {{"id", int64()}, {"balance", int64()}},
//                                           .key = {"id"}});
//   database.run([&](Transaction& transaction) {
//     accounts.update(transaction, {1}, {{"balance", 5}}).require();
//     accounts.update(transaction, {2}, {{"balance", 7}}).require();
//   });
//
// Several databases may be open in one process; each directory only once. Files are named in
// docs/file-formats.md.
// Thread-safety: all functions, from any thread, but for close(), moving and the destructor.
//         fork(): In a child every function of the API throws invalid_argument for what its parent
//         has opened or begun, those that throw nothing say that there is nothing, and destructors
//         do nothing. The parent is unharmed, whatever its threads were doing. A child opens
//         databases of its own; the parent's only once the parent has closed it
//         (docs/guarantees.md).
// Failure: Error, whose code says what happened and whose message names what and where. After
//          `failed`, reads go on, and opening again recovers all that was acknowledged. Once it
//          was closed, or moved away, its functions throw invalid_argument.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "palimpsest/backup.h"
#include "palimpsest/compaction.h"
#include "palimpsest/error.h"
#include "palimpsest/options.h"
#include "palimpsest/outcome.h"
#include "palimpsest/place.h"
#include "palimpsest/run_options.h"
#include "palimpsest/schema.h"
#include "palimpsest/statistics.h"
#include "palimpsest/table.h"
#include "palimpsest/transaction.h"

namespace palimpsest {

class Database {
 public:
  /// Opens the database in a directory, or makes it, as the options say; recovers what a crash left
  /// behind. No table is read: a damaged page is `corruption` from the call that needs it. Throws
  /// not_found (there is none, and none is to be made), log_not_found (there is one, and its log is
  /// not where Options::log_directory says), already_exists, locked, not_a_database,
  /// unsupported_version, corruption, permission_denied, io_error, no_space, out_of_memory,
  /// invalid_argument.
  [[nodiscard]] static Database open(const std::filesystem::path& directory,
                                     const Options& options = {});
  Database(Database&&) noexcept;
  /// As the destructor, of what was open.
  Database& operator=(Database&&) noexcept;
  /// Closes it if close() was not called; what goes wrong then is the next opening's to recover.
  /// All transactions and cursors are gone, or the process ends (abort).
  ~Database();

  /// Throws too_many_transactions when none of Options::max_transactions ended in time.
  [[nodiscard]] Transaction begin(const TransactionOptions& options = {});

  /// Calls body(Transaction&) and commits; returns what the body returns, a reference as one. If
  /// the body or the commit throws an Error conflict, not_serializable, transaction_too_old,
  /// snapshot_too_old or too_many_transactions, or the body returns an Outcome or an ErasedRange
  /// that is a conflict, everything is rolled back and the body is called again, after a while. In
  /// conflict with a bulk, or with a change of the table's definition, it waits until that has
  /// ended, for Options::definition_patience in all, which is no attempt. In conflict with another
  /// transaction of this thread, which would have to end first, it throws invalid_argument.
  /// After version_budget_exceeded the body is called again once, in a bulk transaction; any other
  /// exception rolls back and is rethrown. Whatever else the body returns commits, also an Outcome
  /// that says exists or absent: one that wants nothing to happen calls rollback() itself.
  template <class Body>
  std::invoke_result_t<Body&, Transaction&> run(Body&& body, const RunOptions& options = {}) {
    TransactionOptions wanted = options.transaction;
    for (detail::Attempts attempts(state(), options.attempts_max);;) {
      try {
        return run_once(body, wanted, attempts);
      } catch (const Error& error) {
        if (!(options.restart_as_bulk && makes_bulk_after(error, wanted)) &&
            !attempts.wait_after(error)) {
          throw;
        }
      }
    }
  }

  /// Throws not_found if there is none.
  [[nodiscard]] Table table(std::string_view name) const;
  /// Nothing if there is none.
  [[nodiscard]] std::optional<Table> find_table(std::string_view name) const;
  /// Of all tables, ascending by name.
  [[nodiscard]] std::vector<TableSchema> tables() const;

  /// Brings the pages of many places into memory, their reads overlapping, and does nothing else:
  /// for whoever knows which rows will be read, changed or inserted one after the other. A hint:
  /// it waits for no transaction, and what cannot be read is left to whoever needs it. Costs a
  /// search for each place that is in memory already. Throws not_found, invalid_argument.
  void prefetch(std::span<const Place> places) const;
  void prefetch(std::initializer_list<Place> places) const {
    prefetch(std::span(places.begin(), places.size()));
  }

  // Definitions in transactions of their own (transaction.h has those within others). Throw what
  // Outcome::require() throws, after Options::definition_patience for conflicts.

  Table create_table(const TableSchema& schema);
  /// The table of that name, if it has just this schema, or a new one. Throws already_exists for
  /// one of other columns or another key, and names the first that differs.
  Table find_or_create_table(const TableSchema& schema);
  void drop_table(std::string_view table);
  void create_index(std::string_view table, const IndexSchema& schema);
  void drop_index(std::string_view table, std::string_view index);

  /// Copies the database into a directory that is empty or not there, while it is used; log and
  /// pages lie together in the copy, which is opened as any database is after a crash, and is one
  /// of its own from then on. It lies outside of the database's own directories
  /// (invalid_argument). It holds what had been committed when the call began, and of later
  /// transactions all up to one moment before it returns. Commits of large values may wait for a
  /// moment near the end; a load that writes pages faster than they are copied keeps it from
  /// ending. Until it is whole there is no database in the directory, and none after a
  /// failure. Throws already_exists, locked (one backup at a time), no_space (also if the log had
  /// to be used again before it was copied), not_found, permission_denied, io_error, failed, and
  /// what BackupOptions::progress throws.
  BackupReport backup(const std::filesystem::path& directory,
                      const BackupOptions& options = {}) const;

  /// Makes the page file as short as what is in use, while it is used: gives back what nobody
  /// needs, moves pages from the end of the file to free places before it, and cuts the end off.
  /// Writes a page and as many bytes of log for each that moves; waits for no transaction. Pages
  /// that others take meanwhile may keep the file longer, and it is not cut while a backup is made;
  /// the report says what could not be moved. The engine does the same in the background when most
  /// of the file is free. Throws locked (one at a time), no_space (of the log), io_error, failed,
  /// out_of_memory, and what CompactionOptions::progress throws.
  CompactionReport compact(const CompactionOptions& options = {});

  [[nodiscard]] Statistics statistics() const;
  /// Options in effect, and why: of a database that exists, its own sizes.
  [[nodiscard]] const std::vector<EffectiveOption>& options() const;

  /// Everything is on disk, and the next opening has nothing to recover. No transaction is active,
  /// no cursor is left, nor a transaction that was cancelled, until its owner has rolled it back or
  /// let it go: else it throws invalid_argument, and the database stays open. If it throws anything
  /// else (io_error, no_space, failed), the database is closed all the same, and the next opening
  /// recovers what was acknowledged. Once it is closed it has no file open, but for that of a
  /// RowSort that is left; nothing of the database is used afterwards.
  void close();

 private:
  explicit Database(std::unique_ptr<detail::DatabaseState> state) noexcept;
  [[nodiscard]] detail::DatabaseState& state() const;
  /// One attempt of run().
  template <class Body>
  std::invoke_result_t<Body&, Transaction&> run_once(Body& body, const TransactionOptions& options,
                                                     detail::Attempts& attempts) {
    Transaction transaction = begin(options);
    bind(transaction);
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Body&, Transaction&>>) {
        body(transaction);
        commit_unless_ended(transaction);
        return;
      } else {
        using Result = std::invoke_result_t<Body&, Transaction&>;
        Result result = body(transaction);
        if constexpr (std::is_same_v<std::remove_cvref_t<Result>, Outcome>) {
          throw_if_conflict(transaction, result);
        } else if constexpr (std::is_same_v<std::remove_cvref_t<Result>, ErasedRange>) {
          throw_if_conflict(transaction, result.outcome);
        }
        commit_unless_ended(transaction);
        return std::forward<Result>(result);
      }
    } catch (const Error& error) {
      attempts.failed(transaction, error);
      throw;
    }
  }
  /// It ends before this thread does anything else.
  static void bind(Transaction& transaction) noexcept;
  [[nodiscard]] bool makes_bulk_after(const Error& error, TransactionOptions& options) const;
  static void throw_if_conflict(const Transaction& transaction, const Outcome& outcome) {
    if (transaction.is_active() && outcome.is_conflict()) {
      outcome.require();
    }
  }
  static void commit_unless_ended(Transaction& transaction);

  std::unique_ptr<detail::DatabaseState> state_;
};

}  // namespace palimpsest
