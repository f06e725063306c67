#include "experiments/engines/rocksdb/store.h"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <utility>

#include "experiments/engines/rocksdb/options.h"

namespace palimpsest::experiments {
namespace {

constexpr std::uint64_t kLogRecordHeaderBytes = 7;
constexpr std::uint32_t kMemoryMibMin = 16;

std::shared_ptr<rocksdb::Statistics> counters_only() {
  std::shared_ptr<rocksdb::Statistics> statistics = rocksdb::CreateDBStatistics();
  statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  return statistics;
}

/// The entry's kind, unless the purpose needs no transactions.
RocksdbKind kind_for(RocksdbKind kind, Purpose purpose) {
  return purpose == Purpose::key_values || purpose == Purpose::churn ? RocksdbKind::plain : kind;
}

StoreEntry<RocksdbStore> entry_of(std::string name, RocksdbKind kind,
                                  std::vector<Isolation> isolations) {
  return {.traits = {.name = std::move(name),
                     .isolations = std::move(isolations),
                     .durabilities = {Durability::async, Durability::sync},
                     .memory_mib_min = kMemoryMibMin,
                     .takes_delta = true,
                     .checkpoints_by_time = true},
          .open = [kind](const StoreSettings& settings) {
            return std::make_unique<RocksdbStore>(settings, kind_for(kind, settings.purpose));
          }};
}

/// Opens a database of that class; throws RocksDB's message.
template <class Db, class... Arguments>
std::unique_ptr<rocksdb::DB> open_as(const Arguments&... arguments) {
  Db* db = nullptr;
  rocks::ensure(Db::Open(arguments..., &db), "open");
  return std::unique_ptr<rocksdb::DB>(db);
}

}  // namespace

RocksdbStore::RocksdbStore(const StoreSettings& settings, RocksdbKind kind)
    : kind_(kind), settings_(settings), statistics_(counters_only()) {
  open(rocks::options_of(settings, statistics_));
  if (settings.durability == Durability::async && kind_ != RocksdbKind::plain) {
    flusher_ = std::make_unique<PeriodicTask>(settings.asynchronous_interval, [this] {
      rocks::ensure(db_->FlushWAL(true), "flush the log");
    });
  }
  if (settings.checkpoint_every.count() != 0) {
    checkpointer_ = std::make_unique<PeriodicTask>(settings.checkpoint_every, [this] { flush(); });
  }
}

RocksdbStore::~RocksdbStore() {
  flusher_.reset();
  checkpointer_.reset();
  destroy_families();
}

void RocksdbStore::open(const rocksdb::Options& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options}};
  for (const std::string& table : settings_.tables) {
    families.emplace_back(table, options);
  }
  const std::string directory = settings_.directory.string();
  switch (kind_) {
    case RocksdbKind::pessimistic:
      db_ = open_as<rocksdb::TransactionDB>(options, rocksdb::TransactionDBOptions(), directory,
                                            families, &families_);
      break;
    case RocksdbKind::optimistic: {
      rocksdb::OptimisticTransactionDBOptions validation;
      validation.occ_lock_buckets = 1U << 16U;  // the default exceeds a small memory cap
      db_ = open_as<rocksdb::OptimisticTransactionDB>(options, validation, directory, families,
                                                      &families_);
      break;
    }
    case RocksdbKind::plain:
      db_ = open_as<rocksdb::DB>(options, directory, families, &families_);
      break;
  }
}

std::unique_ptr<RocksdbSession> RocksdbStore::open_session(SessionUse use) {
  return std::make_unique<RocksdbSession>(*this, use);
}

void RocksdbStore::write(rocksdb::WriteBatch& batch, SessionUse use) const {
  rocksdb::WriteOptions write;
  write.disableWAL = use == SessionUse::load;
  rocksdb::DB* const base = kind_ == RocksdbKind::plain
                                ? db_.get()
                                : static_cast<rocksdb::StackableDB&>(*db_).GetBaseDB();
  rocks::ensure(base->Write(write, &batch), "write");
}

std::unique_ptr<rocksdb::Transaction> RocksdbStore::begin(
    std::unique_ptr<rocksdb::Transaction> old) const {
  rocksdb::WriteOptions write;
  write.sync = settings_.durability == Durability::sync;
  if (kind_ == RocksdbKind::pessimistic) {
    rocksdb::TransactionOptions options;
    options.set_snapshot = takes_snapshots();
    options.deadlock_detect = settings_.purpose == Purpose::transactions;
    return std::unique_ptr<rocksdb::Transaction>(
        static_cast<rocksdb::TransactionDB&>(*db_).BeginTransaction(write, options, old.release()));
  }
  rocksdb::OptimisticTransactionOptions options;
  options.set_snapshot = takes_snapshots();
  return std::unique_ptr<rocksdb::Transaction>(
      static_cast<rocksdb::OptimisticTransactionDB&>(*db_).BeginTransaction(write, options,
                                                                            old.release()));
}

void RocksdbStore::finish_load() {
  flush();
  if (settings_.purpose == Purpose::commits) {
    return;
  }
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    rocks::ensure(db_->CompactRange(options, family, nullptr, nullptr), "compact");
  }
}

StoreCounts RocksdbStore::counts() const {
  StoreCounts counts;
  counts.log_bytes =
      statistics_->getTickerCount(rocksdb::WAL_FILE_BYTES) +
      kLogRecordHeaderBytes * statistics_->getTickerCount(rocksdb::WRITE_DONE_BY_SELF);
  std::uint64_t bytes = 0;
  if (db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &bytes)) {
    counts.data_bytes = bytes;
  }
  counts.log_record_bytes = counts.log_bytes;
  return counts;
}

std::string RocksdbStore::description() const {
  const std::string log =
      settings_.durability == Durability::sync
          ? std::string("WriteOptions::sync, group commit")
          : fmt::format("FlushWAL(sync) every {} ms", settings_.asynchronous_interval.count());
  switch (settings_.purpose) {
    case Purpose::key_values: return direct() ? "direct" : "page cache";
    case Purpose::commits: return log;
    case Purpose::churn:
      return "batches without sync; an iterator takes; DeleteRange and puts replace";
    case Purpose::transactions: break;
  }
  return fmt::format("{} transactions, a column family a table; files by {}; log: {}",
                     kind_ == RocksdbKind::pessimistic ? "pessimistic" : "optimistic",
                     direct() ? "direct I/O" : "the page cache", log);
}

EngineOptions RocksdbStore::effective_options() const {
  rocksdb::ConfigOptions format;
  format.delimiter = "; ";
  std::string database;
  std::string table;
  rocks::ensure(rocksdb::GetStringFromDBOptions(format, db_->GetDBOptions(), &database),
                "ask for the options");
  rocksdb::ColumnFamilyDescriptor family;
  rocks::ensure(families_.back()->GetDescriptor(&family), "ask for a table's options");
  rocks::ensure(rocksdb::GetStringFromColumnFamilyOptions(format, family.options, &table),
                "ask for a table's options");
  return {{.name = "DBOptions", .value = database},
          {.name = "ColumnFamilyOptions", .value = table}};
}

void RocksdbStore::flush() const {
  rocks::ensure(db_->Flush({}, families_), "flush");
}

void RocksdbStore::destroy_families() noexcept {
  for (rocksdb::ColumnFamilyHandle* family : std::exchange(families_, {})) {
    static_cast<void>(db_->DestroyColumnFamilyHandle(family));
  }
}

void RocksdbStore::close() {
  for (PeriodicTask* const task : {checkpointer_.get(), flusher_.get()}) {
    if (task != nullptr) {
      task->stop();
    }
  }
  if (kind_ != RocksdbKind::plain) {
    rocks::ensure(db_->FlushWAL(true), "flush the log");
  }
  if (settings_.purpose == Purpose::key_values || settings_.purpose == Purpose::transactions) {
    flush();
  }
  destroy_families();
  rocks::ensure(db_->Close(), "close");
}

StoreEntry<RocksdbStore> rocksdb_store() {
  return entry_of("rocksdb", RocksdbKind::pessimistic, {Isolation::snapshot, Isolation::none});
}

StoreEntry<RocksdbStore> rocksdb_optimistic_store() {
  return entry_of("rocksdb_optimistic", RocksdbKind::optimistic, {Isolation::snapshot});
}

}  // namespace palimpsest::experiments
