// SQLite: a B-tree with a write-ahead log of whole pages; one writer, readers beside it.
//
// A connection to a file with one table of numbered records, and its statements. The settings for
// every benchmark, from the SQLite documentation ("Write-Ahead Logging", "PRAGMA synchronous",
// "PRAGMA locking_mode", sqlite3_db_status):
// - journal_mode=WAL. Synchronous: synchronous=FULL, which syncs the log at each commit.
//   Asynchronous: synchronous=NORMAL, which syncs it before a checkpoint only; at Purpose::commits
//   a thread syncs the log file periodically, since SQLite has no call for that.
// - Keys are the rowid. A checkpoint by the committing thread whenever the log has 1000 pages: the
//   default; an open reader keeps it from resetting the log.
// - Purpose::commits: one connection under a mutex, prepared statements: with one per thread, each
//   commit would invalidate the page caches of all other connections, and waiting writers would
//   sleep by the busy handler's steps. There is no group commit either way. locking_mode=EXCLUSIVE:
//   no file locks and no shared memory, as no other process takes part. Pages of 4 KiB, the
//   default.
// - Purpose::churn: each session has a connection of its own, and these share `memory_bytes` as
//   their page caches.
// Thread-safety: one thread at a time.
// Failure: std::runtime_error with SQLite's message.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "experiments/common/bytes.h"

namespace palimpsest::experiments::sqlite {

class Connection {
 public:
  /// `flags` beside those to read, write and create; `settings` are the first statements.
  Connection(const std::string& file, int flags, const std::string& settings);
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
  void execute(const std::string& text) const;
  /// Throws SQLite's message unless the code says success.
  void ensure(int code, const char* what) const;

 private:
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Destroyed before its connection.
class Statement {
 public:
  Statement(const Connection& connection, const char* text);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::uint64_t number);
  /// The bytes stay until reset().
  void bind(int index, ByteView bytes);
  /// Goes to the next row; false if there is none.
  [[nodiscard]] bool step();
  /// Ends a run.
  void reset();
  /// Runs a statement without rows.
  void run() {
    static_cast<void>(step());
    reset();
  }

  /// Columns of the row.
  [[nodiscard]] std::uint64_t number(int column) const;
  [[nodiscard]] ByteView bytes(int column) const;

 private:
  const Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

/// A connection, and the statements of sessions.
/// Thread-safety: sessions that share it hold the mutex while they have a transaction open.
struct Records {
  Records(const std::string& file, int flags, const std::string& settings)
      : connection(file, flags, settings) {}

  std::mutex mutex;
  Connection connection;
  Statement begin{connection, "BEGIN IMMEDIATE"};
  Statement begin_reading{connection, "BEGIN"};
  Statement commit{connection, "COMMIT"};
  Statement insert{connection, "INSERT INTO records VALUES(?1, ?2)"};
  Statement select{connection, "SELECT value FROM records WHERE key = ?1"};
  Statement update{connection, "UPDATE records SET value = ?2 WHERE key = ?1"};
  Statement erase{connection, "DELETE FROM records WHERE key = ?1"};
  Statement ascend{connection,
                   "SELECT key, value FROM records WHERE key BETWEEN ?1 AND ?2 ORDER BY key"};
  Statement descend{connection,
                    "SELECT key, value FROM records WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC"};
};

}  // namespace palimpsest::experiments::sqlite
