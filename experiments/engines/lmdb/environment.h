// LMDB: a copy-on-write B+-tree in a memory map, one writer, readers without latches, no log.
//
// An environment with its tables; transactions and cursors, which end with their owners. The
// settings for every benchmark, from the comments of lmdb.h (mdb_env_open, mdb_put, "Caveats"):
// - Synchronous commits: the default. A commit writes the copied pages, syncs, and writes the meta
//   page through. Writers wait for each other; there is no group commit.
// - Asynchronous commits: MDB_NOSYNC, and a thread that calls mdb_env_sync periodically. After a
//   crash of the system the file may be corrupt if the file system has reordered writes ("a system
//   crash can corrupt the database"). A crash of the process loses nothing. At Purpose::commits,
//   MDB_NOMETASYNC instead, which leaves out the second sync: "a system crash may undo the last
//   committed transaction". That is the nearest LMDB has without risking its integrity; it still
//   syncs the data of every commit.
// - MDB_NORDAHEAD when the data exceeds memory: "may help random read performance when the DB is
//   larger than RAM and system RAM is full".
// - MDB_WRITEMAP at Purpose::key_values when the data fits memory: "may be slightly faster for DBs
//   that fit entirely in RAM, but is slower for DBs larger than RAM". Not elsewhere: each commit
//   would msync the map, and it takes away what lmdb.h promises for MDB_NOSYNC on a file system
//   that keeps the order of writes. Tried at Purpose::transactions in memory, it was a third faster
//   with one thread and slower with two: after each sync, writes to its pages fault.
// - MDB_NOTLS: sessions are not tied to threads. Not where each thread has its reader for long
//   (Purpose::key_values, Purpose::commits).
// - MDB_APPEND for loads: "allows fast bulk loading when keys are already known to be in the
//   correct order".
// Memory: LMDB has no cache of its own. Its pages are in the page cache, and only a memory cap for
// the process (a control group, as the comparisons have it) bounds them.
// Thread-safety: an Environment, any thread; a transaction and its cursors, one thread at a time.
// Failure: std::runtime_error with LMDB's message.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "experiments/common/bytes.h"

namespace palimpsest::experiments::lmdb {

/// Throws LMDB's message unless the code says success; `what` was to be done.
void ensure(int code, const char* what);
/// Whether there is something; throws any other error.
[[nodiscard]] inline bool is_there(int code, const char* what) {
  if (code != MDB_NOTFOUND) {
    ensure(code, what);
  }
  return code == MDB_SUCCESS;
}

/// LMDB only reads what is given to it.
[[nodiscard]] inline MDB_val value_of(ByteView bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<char*>(bytes.data())};
}

[[nodiscard]] inline ByteView view_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

/// Address space, and a file that grows with its pages: larger than any benchmark's disk.
inline constexpr std::uint64_t kMapBytes = std::uint64_t{1} << 40U;

struct EnvironmentOptions {
  std::filesystem::path directory;
  unsigned flags = 0;
  std::uint64_t map_bytes = kMapBytes;
  unsigned readers_max = 0;         ///< 0: LMDB's default
  std::vector<std::string> tables;  ///< none: one table without a name
  bool create = true;               ///< a missing one; else that is an error
};

class Environment {
 public:
  explicit Environment(const EnvironmentOptions& options);
  ~Environment() { close(); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] MDB_env* get() const noexcept { return handle_; }
  [[nodiscard]] MDB_dbi table(std::size_t index = 0) const noexcept { return tables_[index]; }

  void sync() const { ensure(mdb_env_sync(handle_, 1), "sync"); }
  /// Up to the last page that was ever in use: the file never shrinks.
  [[nodiscard]] std::uint64_t data_bytes() const;
  /// Of these: free. Free pages are listed in the environment's table 0, whose values begin with
  /// how many pages they name (as mdb_stat -f counts them). They are free to be used once a later
  /// transaction has committed.
  [[nodiscard]] std::uint64_t free_bytes() const;
  /// Nothing is called afterwards.
  void close() noexcept { mdb_env_close(std::exchange(handle_, nullptr)); }  // accepts null

 private:
  void open(const EnvironmentOptions& options);

  MDB_env* handle_ = nullptr;
  std::vector<MDB_dbi> tables_;
};

/// A transaction that is aborted unless committed.
class Transaction {
 public:
  explicit Transaction(const Environment& environment, unsigned flags = 0)
      : Transaction(environment.get(), flags) {}
  Transaction(MDB_env* environment, unsigned flags) {
    ensure(mdb_txn_begin(environment, nullptr, flags, &transaction_), "begin");
  }
  ~Transaction() { mdb_txn_abort(transaction_); }  // accepts null
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  [[nodiscard]] MDB_txn* get() const noexcept { return transaction_; }
  void put(MDB_dbi table, ByteView key, ByteView value, unsigned flags) const {
    MDB_val key_value = value_of(key);
    MDB_val data = value_of(value);
    ensure(mdb_put(transaction_, table, &key_value, &data, flags), "put");
  }
  void commit() {  // freed even if it fails
    ensure(mdb_txn_commit(std::exchange(transaction_, nullptr)), "commit");
  }

 private:
  MDB_txn* transaction_ = nullptr;
};

/// Destroyed before its transaction.
class Cursor {
 public:
  Cursor(MDB_txn* transaction, MDB_dbi table) {
    ensure(mdb_cursor_open(transaction, table, &cursor_), "open a cursor");
  }
  Cursor(const Transaction& in, MDB_dbi table) : Cursor(in.get(), table) {}
  ~Cursor() { mdb_cursor_close(cursor_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  /// False if there is no such record. MDB_NEXT goes from a deleted record to the one after it.
  [[nodiscard]] bool move(MDB_cursor_op to) {
    return is_there(mdb_cursor_get(cursor_, &key_, &value_, to), "move a cursor");
  }
  /// Moves to the first key at or after that one.
  [[nodiscard]] bool seek(ByteView at) {
    key_ = value_of(at);
    return move(MDB_SET_RANGE);
  }
  [[nodiscard]] ByteView key() const { return view_of(key_); }
  [[nodiscard]] ByteView value() const { return view_of(value_); }
  void erase() { ensure(mdb_cursor_del(cursor_, 0), "delete"); }

 private:
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {};
  MDB_val value_ = {};
};

}  // namespace palimpsest::experiments::lmdb
