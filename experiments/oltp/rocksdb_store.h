// RocksDB as a store: a log-structured merge tree with a write-ahead log and a block cache.
//
// Two engines on the same files: pessimistic transactions (TransactionDB) lock keys as they change
// them, optimistic ones (OptimisticTransactionDB) check for conflicts at commit.
//
// Settings as in experiments/kv_bench/rocksdb_engine.cc (cache, filters, blocks, compaction) and
// experiments/log_bench/rocksdb_engine.cc (log), which name their sources. Different, or in
// addition:
// - Each table is a column family. Together they get the write buffers that kv_bench gives its one
//   table; the write buffer manager flushes the oldest.
// - Filters on the last level too (no optimize_filters_for_hits): an insert first looks for its
//   key, as in the other engines, and the key is absent.
// - deadlock_detect: transactions lock several rows. Else a deadlock would last for the lock
//   timeout, the default of a second.
// - max_write_buffer_size_to_maintain is a quarter of a write buffer. The default, four of them for
//   each column family, would not fit the memory. Optimistic transactions check for conflicts in
//   this history; one that is older fails (TryAgain, here too_old).
// - max_total_wal_size bounds the log as in the other engines (peer_stores.h).
// - A load writes batches without a log, and ends with a full compaction, as in kv_bench.
// Isolation: `none` reads committed values, and locks a row before it reads it for a change.
// `snapshot` (set_snapshot) reads one state, and a change of a row that has been changed since is a
// conflict: at once if pessimistic, at commit if optimistic. Optimistic transactions have nothing
// weaker: without a snapshot, a transaction that is going to fail reads rows of the conflicting
// transaction beside older ones, a state that no transaction leaves behind.
// Speed: Debian's library, which these benchmarks link, is compiled with its assertions.
// Log bytes: as in experiments/log_bench/rocksdb_engine.cc.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/stackable_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <vector>

#include "experiments/common/periodic_task.h"
#include "experiments/oltp/rocksdb_session.h"
#include "experiments/oltp/store.h"

namespace palimpsest::experiments::oltp {

enum class RocksdbKind : std::uint8_t { pessimistic = 1, optimistic };

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
  /// Without locks, transactions, or a log.
  void write_unlogged(rocksdb::WriteBatch& batch) const;
  /// Begins a transaction, in `old` if that is one.
  [[nodiscard]] std::unique_ptr<rocksdb::Transaction> begin(
      std::unique_ptr<rocksdb::Transaction> old) const;
  [[nodiscard]] rocksdb::ColumnFamilyHandle* family(TableId table) const {
    return families_[1 + index_of(table)];
  }
  /// Whether reading a key for an update locks it, so that the update need not lock it again.
  [[nodiscard]] bool locks() const noexcept { return kind_ == RocksdbKind::pessimistic; }
  [[nodiscard]] bool takes_snapshots() const noexcept { return isolation_ == Isolation::snapshot; }

 private:
  void open(const StoreSettings& settings, const rocksdb::Options& options);
  void flush() const;
  void destroy_families() noexcept;

  const RocksdbKind kind_;
  const Isolation isolation_;
  const Durability durability_;
  const std::chrono::milliseconds interval_;
  const bool direct_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::StackableDB> db_;            ///< of the class that kind_ says
  std::vector<rocksdb::ColumnFamilyHandle*> families_;  ///< the default one first
  std::unique_ptr<PeriodicTask> flusher_;
};

static_assert(Store<RocksdbStore>);

[[nodiscard]] StoreEntry<RocksdbStore> rocksdb_store();
[[nodiscard]] StoreEntry<RocksdbStore> rocksdb_optimistic_store();

}  // namespace palimpsest::experiments::oltp
