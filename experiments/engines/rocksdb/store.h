// RocksDB as a store (options.h has its settings).
//
// Three engines on the same files: pessimistic transactions (TransactionDB) lock keys as they
// change them, optimistic ones (OptimisticTransactionDB) check for conflicts at commit; plain ones
// (rocksdb::DB) are single operations or batches.
// deadlock_detect: at Purpose::transactions, transactions lock several rows. Else a deadlock would
// last for the lock timeout, the default of a second.
// A load writes batches without a log, and ends with a flush, and a full compaction where reads are
// measured.
// Isolation: `none` reads committed values, and locks a row before it reads it for a change.
// `snapshot` (set_snapshot) reads one state, and a change of a row that has been changed since is a
// conflict: at once if pessimistic, at commit if optimistic. Optimistic transactions have nothing
// weaker: without a snapshot, a transaction that is going to fail reads rows of the conflicting
// transaction beside older ones, a state that no transaction leaves behind.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <vector>

#include "experiments/common/periodic_task.h"
#include "experiments/engines/rocksdb/session.h"
#include "experiments/engines/store.h"

namespace palimpsest::experiments {

enum class RocksdbKind : std::uint8_t { pessimistic = 1, optimistic, plain };

class RocksdbStore {
 public:
  using Session = RocksdbSession;

  RocksdbStore(const StoreSettings& settings, RocksdbKind kind);
  ~RocksdbStore();
  RocksdbStore(const RocksdbStore&) = delete;
  RocksdbStore& operator=(const RocksdbStore&) = delete;

  [[nodiscard]] std::unique_ptr<Session> open_session(SessionUse use);
  void finish_load();
  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::string description() const;
  [[nodiscard]] EngineOptions effective_options() const;
  void close();

  // For sessions.

  [[nodiscard]] rocksdb::DB& db() const noexcept { return *db_; }
  /// Without locks or transactions; without a log if it is of a load.
  void write(rocksdb::WriteBatch& batch, SessionUse use) const;
  /// Begins a transaction, in `old` if that is one.
  [[nodiscard]] std::unique_ptr<rocksdb::Transaction> begin(
      std::unique_ptr<rocksdb::Transaction> old) const;
  [[nodiscard]] rocksdb::ColumnFamilyHandle* family(TableId table) const {
    return settings_.tables.empty() ? db_->DefaultColumnFamily() : families_[1 + index_of(table)];
  }
  [[nodiscard]] Purpose purpose() const noexcept { return settings_.purpose; }
  /// Whether reading a key for an update locks it, so that the update need not lock it again.
  [[nodiscard]] bool locks() const noexcept { return kind_ == RocksdbKind::pessimistic; }
  [[nodiscard]] bool takes_snapshots() const noexcept {
    return settings_.isolation == Isolation::snapshot;
  }

 private:
  void open(const rocksdb::Options& options);
  void flush() const;
  void destroy_families() noexcept;
  [[nodiscard]] bool direct() const noexcept { return !settings_.fits_in_memory(); }

  const RocksdbKind kind_;
  const StoreSettings settings_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;                     ///< of the class that kind_ says
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  ///< the default one first
  std::unique_ptr<PeriodicTask> flusher_;
  std::unique_ptr<PeriodicTask> checkpointer_;
};

static_assert(Store<RocksdbStore>);

/// Pessimistic where transactions are asked for, else plain.
[[nodiscard]] StoreEntry<RocksdbStore> rocksdb_store();
[[nodiscard]] StoreEntry<RocksdbStore> rocksdb_optimistic_store();

}  // namespace palimpsest::experiments
