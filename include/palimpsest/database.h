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
// One process may open several databases, but each directory only once. docs/file-formats.md names
// the files.
// Thread-safety: all functions, from any thread, except close(), moving and the destructor.
// fork(): in a child, every function of the API that may throw throws invalid_argument for what the
// parent has opened or begun; those that do not throw report that there is nothing; destructors do
// nothing. The parent is unharmed, whatever its threads were doing. A child may open other
// databases, and the parent's once the parent has closed it (docs/guarantees.md).
// Failure: Error, whose code says what happened and whose message names what and where. After
// `failed`, reads go on, and reopening recovers everything that was acknowledged. After it is
// closed or moved from, its functions throw invalid_argument.
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
  /// Opens the database in a directory, or creates it, as the options say, and recovers it after a
  /// crash. Reads no table: a damaged page is `corruption` from the call that needs it. Throws
  /// not_found (there is none, and the options do not allow to create one), log_not_found (there is
  /// one, but its log is not where Options::log_directory says), already_exists, locked,
  /// not_a_database, unsupported_version, corruption, permission_denied, io_error, no_space,
  /// out_of_memory, invalid_argument.
  [[nodiscard]] static Database open(const std::filesystem::path& directory,
                                     const Options& options = {});
  Database(Database&&) noexcept;
  /// Closes the database that was open here, as the destructor does.
  Database& operator=(Database&&) noexcept;
  /// Closes the database unless close() was called. Errors are not reported: the next opening
  /// recovers. Aborts the process if a transaction or cursor is left.
  ~Database();

  /// Throws too_many_transactions if all of Options::max_transactions stay in use for
  /// Options::begin_patience.
  [[nodiscard]] Transaction begin(const TransactionOptions& options = {});

  /// Calls body(Transaction&), commits, and returns what the body returns (a reference as a
  /// reference).
  /// - Retried after rollback and a pause: an Error conflict, not_serializable,
  ///   transaction_too_old, snapshot_too_old or too_many_transactions, thrown by the body or the
  ///   commit; an Outcome or ErasedRange with a conflict that the body returns.
  /// - Conflict with a bulk, or with a change of the table's definition: waits for its end, for
  ///   Options::definition_patience in all; this counts as no attempt.
  /// - Conflict with another transaction of this thread, which could never end: invalid_argument.
  /// - version_budget_exceeded: the body is called once more, in a bulk transaction.
  /// - Any other exception rolls back and is rethrown.
  /// Every other return value commits, including an Outcome `exists` or `absent`: a body that wants
  /// no changes calls rollback() itself.
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

  /// Throws not_found if there is no such table.
  [[nodiscard]] Table table(std::string_view name) const;
  /// Returns nothing if there is no such table.
  [[nodiscard]] std::optional<Table> find_table(std::string_view name) const;
  /// The schemas of all tables, ascending by name.
  [[nodiscard]] std::vector<TableSchema> tables() const;

  /// Prefetches the pages of many places with overlapping reads, for a caller that is about to
  /// read, change or insert the rows one by one. A hint: it waits for no transaction, and ignores
  /// pages that cannot be read. Costs a search for each place that is in memory already. Throws
  /// not_found, invalid_argument.
  void prefetch(std::span<const Place> places) const;
  void prefetch(std::initializer_list<Place> places) const {
    prefetch(std::span(places.begin(), places.size()));
  }

  // Definitions, each in a transaction of its own (transaction.h has those within a transaction).
  // They throw what Outcome::require() throws; conflicts after Options::definition_patience.

  Table create_table(const TableSchema& schema);
  /// Returns the table of that name if it has exactly this schema, or creates it. Throws
  /// already_exists, naming the first difference, if it has other columns or another key.
  Table find_or_create_table(const TableSchema& schema);
  void drop_table(std::string_view table);
  void create_index(std::string_view table, const IndexSchema& schema);
  void drop_index(std::string_view table, std::string_view index);

  /// Copies the database, while it is in use, into a directory that is empty or does not exist. The
  /// directory must lie outside of the database's own (invalid_argument). The copy has its log
  /// beside its pages and is a database of its own; its first opening recovers it, as after a
  /// crash.
  /// It holds everything committed before the call began, and the later transactions up to one
  /// moment before it returns. Commits of large values may wait for a moment near the end; a load
  /// that writes pages faster than they are copied keeps the backup from ending. The directory
  /// holds no database until the copy is complete, and none after a failure. Throws already_exists,
  /// locked (one backup at a time), no_space (also if log had to be reused before it was copied),
  /// not_found, permission_denied, io_error, failed, and what BackupOptions::progress throws.
  BackupReport backup(const std::filesystem::path& directory,
                      const BackupOptions& options = {}) const;

  /// Shortens the page file to what is in use, while the database is in use: frees unneeded pages,
  /// moves pages from the end of the file to free places before it, and truncates the file. Each
  /// move writes a page and as many bytes of log. Waits for no transaction. Pages that other
  /// transactions allocate meanwhile may keep the file longer, and a file is not truncated during a
  /// backup; the report says what could not be moved. The engine does the same in the background
  /// when most of the file is free. Throws locked (one at a time), no_space (of the log), io_error,
  /// failed, out_of_memory, and what CompactionOptions::progress throws.
  CompactionReport compact(const CompactionOptions& options = {});

  [[nodiscard]] Statistics statistics() const;
  /// The options in effect, and why. An existing database keeps the sizes that it was created with.
  [[nodiscard]] const std::vector<EffectiveOption>& options() const;

  /// Writes everything to disk, so that the next opening has nothing to recover. Requires that no
  /// transaction is active, no cursor is left, and the owner of each cancelled transaction has
  /// rolled it back or dropped it: else throws invalid_argument, and the database stays open. After
  /// any other exception (io_error, no_space, failed) the database is closed all the same, and the
  /// next opening recovers what was acknowledged. A closed database has no file open except that of
  /// a remaining RowSort; nothing of the database may be used afterwards.
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
  /// The transaction ends before this thread does anything else.
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
