// SQLite as a store of one table, whose keys are numbers (common/record_key.h); connection.h has
// its settings.
//
// Isolation: serializable. Writers run one after the other; readers have a snapshot.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "experiments/common/periodic_task.h"
#include "experiments/common/record_key.h"
#include "experiments/engines/sqlite/connection.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments {

class SqliteSession {
 public:
  /// Sessions may share the records.
  explicit SqliteSession(std::shared_ptr<sqlite::Records> records)
      : records_(std::move(records)), turn_(records_->mutex, std::defer_lock) {}
  ~SqliteSession() { rollback(); }
  SqliteSession(const SqliteSession&) = delete;
  SqliteSession& operator=(const SqliteSession&) = delete;

  void begin(Intent intent);
  Access commit();
  void rollback() noexcept;

  template <class Use>
  Access get(TableId /*table*/, ByteView key, Use&& use) {
    records_->select.bind(1, record_of(key));
    const bool found = records_->select.step();
    if (found) {
      use(records_->select.bytes(0));
    }
    records_->select.reset();
    return found ? Access::done : Access::missing;
  }

  template <class Change>
  Access rewrite(TableId table, ByteView key, Change&& change) {
    const Access found = get(table, key, [&](ByteView value) { value_.assign(change(value)); });
    if (found == Access::done) {
      records_->update.bind(1, record_of(key));
      records_->update.bind(2, ByteView(value_));
      records_->update.run();
    }
    return found;
  }

  Access insert(TableId table, ByteView key, ByteView value);
  Access erase(TableId table, ByteView key);

  template <class Visit>
  Access scan(TableId /*table*/, ByteView first, ByteView last, Direction direction,
              Visit&& visit) {
    sqlite::Statement& rows =
        direction == Direction::forward ? records_->ascend : records_->descend;
    rows.bind(1, record_of(first));
    rows.bind(2, record_of(last));
    while (rows.step() && visit(RecordKey(rows.number(0)).view(), rows.bytes(1))) {
    }
    rows.reset();
    return Access::done;
  }

  template <class Fill>
  void replace_all(TableId table, Fill&& fill) {
    begin(Intent::read_write);
    records_->connection.execute("DELETE FROM records");
    fill([&](ByteView key, ByteView value) { static_cast<void>(insert(table, key, value)); });
    static_cast<void>(commit());
  }

  /// SQLite has none.
  [[nodiscard]] static ConflictReason conflict_reason() noexcept { return ConflictReason::other; }

 private:
  std::shared_ptr<sqlite::Records> records_;
  std::unique_lock<std::mutex> turn_;  ///< held while a transaction is open
  std::string value_;
};

class SqliteStore {
 public:
  using Session = SqliteSession;

  explicit SqliteStore(const StoreSettings& settings);

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

 private:
  [[nodiscard]] std::shared_ptr<sqlite::Records> open_records() const;

  const StoreSettings settings_;
  const std::string file_;
  std::shared_ptr<sqlite::Records> records_;  ///< of all sessions; null: each has its own
  std::unique_ptr<PeriodicTask> flusher_;
};

static_assert(Store<SqliteStore>);

[[nodiscard]] StoreEntry<SqliteStore> sqlite_store();

}  // namespace palimpsest::experiments
