// LMDB as a store (environment.h has its settings).
//
// Isolation: serializable. Writers run one after the other, begin() waits; readers have a snapshot
// and block no writer. A session keeps its reader's slot between transactions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/common/periodic_task.h"
#include "experiments/engines/lmdb/environment.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments {

class LmdbSession {
 public:
  LmdbSession(const lmdb::Environment& environment, Purpose purpose, SessionUse use) noexcept
      : environment_(environment), purpose_(purpose), appends_(use == SessionUse::load) {}
  ~LmdbSession();
  LmdbSession(const LmdbSession&) = delete;
  LmdbSession& operator=(const LmdbSession&) = delete;

  void begin(Intent intent);
  Access commit();
  void rollback() noexcept;

  template <class Use>
  Access get(TableId table, ByteView key, Use&& use) {
    MDB_val value = {};
    const Access found = find(table, key, value);
    if (found == Access::done) {
      use(lmdb::view_of(value));
    }
    return found;
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    MDB_val value = {};
    const Access found = find(table, key, value);
    if (found == Access::done) {
      replace(table, key, lmdb::view_of(value), change(lmdb::view_of(value)));
    }
    return found;
  }

  Access insert(TableId table, ByteView key, ByteView value);
  Access erase(TableId table, ByteView key);

  template <class Visit>
  Access scan(TableId table, ByteView first, ByteView last, Direction direction, Visit&& visit) {
    const bool forward = direction == Direction::forward;
    lmdb::Cursor cursor(transaction_, at(table));
    for (bool there = seek(cursor, forward ? first : last, direction);
         there && (forward ? cursor.key() <= last : cursor.key() >= first);
         there = cursor.move(forward ? MDB_NEXT : MDB_PREV)) {
      if (!visit(cursor.key(), cursor.value())) {
        break;
      }
    }
    return Access::done;
  }

  template <class Fill>
  void replace_all(TableId table, Fill&& fill) {
    lmdb::Transaction writer(environment_);
    lmdb::ensure(mdb_drop(writer.get(), at(table), 0), "empty the table");
    fill([&](ByteView key, ByteView value) { writer.put(at(table), key, value, MDB_APPEND); });
    writer.commit();
  }

  /// LMDB has none.
  [[nodiscard]] static ConflictReason conflict_reason() noexcept { return ConflictReason::other; }

 private:
  [[nodiscard]] MDB_dbi at(TableId table) const noexcept {
    return environment_.table(index_of(table));
  }
  /// Finds the first key at or after that one, in the direction; false if there is none.
  [[nodiscard]] static bool seek(lmdb::Cursor& cursor, ByteView at, Direction direction);
  [[nodiscard]] Access find(TableId table, ByteView key, MDB_val& value) const;
  void replace(TableId table, ByteView key, ByteView old, ByteView value);

  const lmdb::Environment& environment_;
  const Purpose purpose_;
  bool appends_;                    ///< inserts, which are of a load
  MDB_txn* reader_ = nullptr;       ///< reset between transactions, once there is one
  MDB_txn* transaction_ = nullptr;  ///< the open one: reader_, or a writer
  std::string copy_;
};

class LmdbStore {
 public:
  using Session = LmdbSession;

  explicit LmdbStore(const StoreSettings& settings);

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const { return {.data_bytes = environment_.data_bytes()}; }
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  const StoreSettings settings_;
  const unsigned flags_;
  lmdb::Environment environment_;
  std::unique_ptr<PeriodicTask> syncer_;
};

static_assert(Store<LmdbStore>);

[[nodiscard]] StoreEntry<LmdbStore> lmdb_store();

}  // namespace palimpsest::experiments
