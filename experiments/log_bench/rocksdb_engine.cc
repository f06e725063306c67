// RocksDB: transactions over a write-ahead log and a log-structured merge tree.
//
// Settings, from the RocksDB wiki ("Transactions", "WAL Performance", "Write Batch With Index",
// "Pipelined Write", "Merge Operator", "Statistics") and the comments of options.h and
// transaction_db.h:
// - TransactionDB (locks on keys, write-committed). GetForUpdate, change, Put, Commit; one
//   Transaction object per thread, reused.
// - --delta: Merge instead, with an operator that applies the bytes when a reader needs the value.
//   The log then carries only them; reads, flushes and compactions pay.
// - Synchronous: WriteOptions::sync. Writers that wait form a group whose leader writes and syncs
//   once for all. enable_pipelined_write, "improves concurrent write throughput in case WAL is
//   enabled".
// - Asynchronous: manual_wal_flush keeps the log in the process, and a thread calls
//   FlushWAL(sync=true) every so many milliseconds.
// - A thread flushes the memtable at each checkpoint interval, as a database would that bounds its
//   recovery; compactions follow by themselves.
// - No compression: the values are random bytes. Records fit the block cache and the memtable.
// Log bytes: the ticker WAL_FILE_BYTES counts write batches (12 bytes of header, then per entry
// tag, lengths, key, value); each group's batch becomes one record with a header of 7 bytes ("Write
// Ahead Log File Format"), one per WRITE_DONE_BY_SELF.
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "experiments/common/periodic_task.h"
#include "experiments/log_bench/peer_engines.h"
#include "experiments/peers/rocksdb.h"

namespace palimpsest::experiments {
namespace {

using rocks::ensure;
using rocks::slice_of;

constexpr std::uint64_t kLoadBatch = 1000;
constexpr std::uint64_t kLogRecordHeaderBytes = 7;

/// An operand is an offset of one byte and the bytes that belong there.
class ReplaceBytes final : public rocksdb::MergeOperator {
 public:
  static std::string operand_of(std::size_t offset, const Field& bytes) {
    static_assert(kValueBytes <= 255);
    std::string operand(1, static_cast<char>(offset));
    operand.append(bytes.data(), bytes.size());
    return operand;
  }

  bool FullMergeV2(const MergeOperationInput& in, MergeOperationOutput* out) const override {
    if (in.existing_value == nullptr) {
      return false;
    }
    out->new_value.assign(in.existing_value->data(), in.existing_value->size());
    return std::all_of(in.operand_list.begin(), in.operand_list.end(),
                       [&](const rocksdb::Slice& operand) {
                         const auto offset = static_cast<unsigned char>(operand[0]);
                         if (offset + operand.size() - 1 > out->new_value.size()) {
                           return false;
                         }
                         out->new_value.replace(offset, operand.size() - 1, operand.data() + 1,
                                                operand.size() - 1);
                         return true;
                       });
  }

  /// The later of two operands for the same bytes is all that is needed.
  bool PartialMerge(const rocksdb::Slice& /*key*/, const rocksdb::Slice& left,
                    const rocksdb::Slice& right, std::string* merged,
                    rocksdb::Logger* /*logger*/) const override {
    if (left.size() != right.size() || left[0] != right[0]) {
      return false;
    }
    merged->assign(right.data(), right.size());
    return true;
  }

  const char* Name() const override { return "log_bench.ReplaceBytes"; }
};

class RocksdbSession final : public CommitSession {
 public:
  RocksdbSession(rocksdb::TransactionDB& db, const rocksdb::WriteOptions& write, bool delta)
      : db_(db), write_(write), delta_(delta) {}

  void update(std::uint64_t record, std::size_t offset, const Field& bytes) override {
    const RecordKey key(record);
    for (;;) {
      transaction_.reset(db_.BeginTransaction(write_, {}, transaction_.release()));
      const rocksdb::Status status = delta_ ? merge(slice_of(key.view()), offset, bytes)
                                            : put(slice_of(key.view()), offset, bytes);
      if (status.IsTimedOut() || status.IsBusy()) {  // the record's lock: another thread came first
        ensure(transaction_->Rollback(), "rollback");
        continue;
      }
      ensure(status, "update");
      ensure(transaction_->Commit(), "commit");
      return;
    }
  }

  std::optional<Value> read(std::uint64_t record) override {
    const RecordKey key(record);
    const rocksdb::Status status = db_.Get({}, slice_of(key.view()), &copy_);
    if (status.IsNotFound()) {
      return std::nullopt;
    }
    ensure(status, "get");
    return as_value();
  }

 private:
  rocksdb::Status merge(const rocksdb::Slice& key, std::size_t offset, const Field& bytes) {
    return transaction_->Merge(key, ReplaceBytes::operand_of(offset, bytes));
  }

  rocksdb::Status put(const rocksdb::Slice& key, std::size_t offset, const Field& bytes) {
    rocksdb::Status status = transaction_->GetForUpdate({}, key, &copy_);
    if (status.ok()) {
      copy_.replace(offset, bytes.size(), bytes.data(), bytes.size());
      status = transaction_->Put(key, copy_);
    }
    return status;
  }

  std::optional<Value> as_value() const {
    if (copy_.size() != kValueBytes) {
      return std::nullopt;
    }
    Value value;
    std::memcpy(value.data(), copy_.data(), kValueBytes);
    return value;
  }

  rocksdb::TransactionDB& db_;
  rocksdb::WriteOptions write_;
  bool delta_;
  std::unique_ptr<rocksdb::Transaction> transaction_;
  std::string copy_;
};

rocksdb::Options db_options(const CommitSettings& settings,
                            const std::shared_ptr<rocksdb::Statistics>& statistics) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.memory_bytes / 2);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = settings.memory_bytes / 8;
  options.max_write_buffer_number = 4;
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.enable_pipelined_write = true;
  options.manual_wal_flush = settings.durability == Durability::asynchronous;
  options.merge_operator = std::make_shared<ReplaceBytes>();
  options.statistics = statistics;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

std::shared_ptr<rocksdb::Statistics> counters_only() {
  std::shared_ptr<rocksdb::Statistics> statistics = rocksdb::CreateDBStatistics();
  statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  return statistics;
}

class RocksdbEngine final : public CommitEngine {
 public:
  explicit RocksdbEngine(const CommitSettings& settings)
      : settings_(settings), statistics_(counters_only()) {
    rocksdb::TransactionDB* db = nullptr;
    ensure(rocksdb::TransactionDB::Open(db_options(settings, statistics_), {},
                                        settings.directory.string(), &db),
           "open");
    db_.reset(db);
    if (settings.durability == Durability::asynchronous) {
      flusher_ = std::make_unique<PeriodicTask>(
          settings.flush_every, [this] { ensure(db_->FlushWAL(true), "flush the log"); });
    }
    checkpointer_ = std::make_unique<PeriodicTask>(settings.checkpoint_every,
                                                   [this] { ensure(db_->Flush({}), "flush"); });
  }

  void load(std::uint64_t records) override {
    rocksdb::WriteBatch batch;
    for (std::uint64_t record = 0; record < records; ++record) {
      const RecordKey key(record);
      const Value value = fresh_value(record);
      ensure(batch.Put(slice_of(key.view()), slice_of(view_of(value))), "put");
      if (batch.Count() == kLoadBatch || record + 1 == records) {
        ensure(db_->Write({}, &batch), "write");
        batch.Clear();
      }
    }
    ensure(db_->Flush({}), "flush");
  }

  std::unique_ptr<CommitSession> open_session() override {
    rocksdb::WriteOptions write;
    write.sync = settings_.durability == Durability::synchronous;
    return std::make_unique<RocksdbSession>(*db_, write, settings_.delta);
  }

  LogCounts log_counts() const override {
    const std::uint64_t batches = statistics_->getTickerCount(rocksdb::WAL_FILE_BYTES);
    const std::uint64_t headers =
        kLogRecordHeaderBytes * statistics_->getTickerCount(rocksdb::WRITE_DONE_BY_SELF);
    return {.record_bytes = batches + headers, .log_bytes = batches + headers};
  }

  std::string durability_description() const override {
    if (settings_.durability == Durability::synchronous) {
      return "WriteOptions::sync, group commit";
    }
    return fmt::format("FlushWAL(sync) every {} ms", settings_.flush_every.count());
  }

  void close() override {
    checkpointer_->stop();
    if (flusher_) {
      flusher_->stop();
    }
    ensure(db_->FlushWAL(true), "flush the log");
    ensure(db_->Close(), "close");
  }

 private:
  CommitSettings settings_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::TransactionDB> db_;
  std::unique_ptr<PeriodicTask> flusher_;
  std::unique_ptr<PeriodicTask> checkpointer_;
};

}  // namespace

CommitEngineEntry rocksdb_engine() {
  return {.traits = {.name = "rocksdb", .takes_delta = true, .checkpoints_by_time = true},
          .open = [](const CommitSettings& settings) -> std::unique_ptr<CommitEngine> {
            return std::make_unique<RocksdbEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
