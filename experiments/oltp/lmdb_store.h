// LMDB as a store: a copy-on-write B+-tree in a memory map, one writer, no log.
//
// Settings as in experiments/kv_bench/lmdb_engine.cc, which names their sources: MDB_NORDAHEAD when
// the data exceeds memory, MDB_APPEND for loads. Different, or in addition:
// - Synchronous: the default. A commit writes the copied pages, syncs, and writes the meta page
//   through. There is no group commit.
// - Asynchronous: MDB_NOSYNC, and a thread that calls mdb_env_sync periodically. That is faster
//   than the MDB_NOMETASYNC of experiments/log_bench, which still syncs each commit's pages, and
//   promises less: after a crash of the system the file may be corrupt if the file system has
//   reordered writes ("a system crash can corrupt the database", lmdb.h). A crash of the process
//   loses nothing.
// - No MDB_WRITEMAP, which would take away what lmdb.h promises for MDB_NOSYNC on a file system
//   that keeps the order of writes. Tried in memory, it was a third faster with one thread and
//   slower with two: after each sync, writes to its pages fault.
// - MDB_NOTLS: sessions are not tied to threads.
// Isolation: serializable. Writers run one after the other, begin() waits; readers have a snapshot
// and block no writer, and their reader slot is kept between transactions.
// Memory: LMDB has no cache of its own. Its pages are in the page cache, and only a memory cap for
// the process (a control group, as the comparison has it) bounds them.
// Data bytes: up to the last page that was ever in use.
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "experiments/common/periodic_task.h"
#include "experiments/oltp/peer_stores.h"
#include "experiments/oltp/store.h"
#include "experiments/peers/lmdb.h"

namespace palimpsest::experiments::oltp {

class LmdbSession {
 public:
  LmdbSession(MDB_env* environment, const std::vector<MDB_dbi>& tables, SessionUse use) noexcept
      : environment_(environment), tables_(tables), loads_(use == SessionUse::load) {}
  ~LmdbSession();
  LmdbSession(const LmdbSession&) = delete;
  LmdbSession& operator=(const LmdbSession&) = delete;

  void begin(Intent intent);
  [[nodiscard]] Access commit();
  void rollback() noexcept;

  template <class Use>
  [[nodiscard]] Access get(TableId table, ByteView key, Use&& use) {
    MDB_val value = {};
    const Access found = find(table, key, value);
    if (found == Access::done) {
      use(lmdb::view_of(value));
    }
    return found;
  }

  template <class Change>
  [[nodiscard]] Access rewrite(TableId table, ByteView key, Change&& change) {
    MDB_val value = {};
    const Access found = find(table, key, value);
    if (found == Access::done) {
      replace(table, key, lmdb::view_of(value), change(lmdb::view_of(value)));
    }
    return found;
  }

  [[nodiscard]] Access insert(TableId table, ByteView key, ByteView value);
  [[nodiscard]] Access erase(TableId table, ByteView key);

  template <class Visit>
  [[nodiscard]] Access scan(TableId table, ByteView first, ByteView last, Direction direction,
                            Visit&& visit) {
    const bool forward = direction == Direction::forward;
    const Cursor cursor(transaction_, tables_[index_of(table)]);
    MDB_val key = {};
    MDB_val value = {};
    for (bool there = cursor.seek(forward ? first : last, direction, key, value);
         there && (forward ? lmdb::view_of(key) <= last : lmdb::view_of(key) >= first);
         there = cursor.step(direction, key, value)) {
      if (!visit(lmdb::view_of(key), lmdb::view_of(value))) {
        break;
      }
    }
    return Access::done;
  }

  /// LMDB has none.
  [[nodiscard]] static ConflictReason conflict_reason() noexcept { return ConflictReason::other; }

 private:
  /// Of one scan.
  class Cursor {
   public:
    Cursor(MDB_txn* transaction, MDB_dbi table);
    ~Cursor() { mdb_cursor_close(cursor_); }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    /// Finds the first key at or after that one, in the direction; false if there is none.
    [[nodiscard]] bool seek(ByteView at, Direction direction, MDB_val& key, MDB_val& value) const;
    [[nodiscard]] bool step(Direction direction, MDB_val& key, MDB_val& value) const;

   private:
    [[nodiscard]] bool move(MDB_cursor_op operation, MDB_val& key, MDB_val& value) const;

    MDB_cursor* cursor_ = nullptr;
  };

  [[nodiscard]] Access find(TableId table, ByteView key, MDB_val& value) const;
  void replace(TableId table, ByteView key, ByteView old, ByteView value);

  MDB_env* environment_;
  const std::vector<MDB_dbi>& tables_;
  const bool loads_;
  MDB_txn* reader_ = nullptr;       ///< reset between transactions, once there is one
  MDB_txn* transaction_ = nullptr;  ///< the open one: reader_, or a writer
  std::string copy_;
};

class LmdbStore {
 public:
  using Session = LmdbSession;

  explicit LmdbStore(const StoreSettings& settings);
  ~LmdbStore();
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  void open();
  void open_tables();

  const StoreSettings settings_;
  MDB_env* environment_ = nullptr;
  std::vector<MDB_dbi> tables_;
  std::unique_ptr<PeriodicTask> syncer_;
};

static_assert(Store<LmdbStore>);

[[nodiscard]] StoreEntry<LmdbStore> lmdb_store();

}  // namespace palimpsest::experiments::oltp
