#include "experiments/oltp/rocksdb_store.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <thread>

#include "experiments/oltp/peer_stores.h"

namespace palimpsest::experiments::oltp {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kBlockBytes = 4096;
constexpr double kBloomBitsPerKey = 10;
constexpr std::uint64_t kLogRecordHeaderBytes = 7;
constexpr std::uint32_t kMemoryMibMin = 16;

rocksdb::BlockBasedTableOptions table_options(const StoreSettings& settings,
                                              const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = kBlockBytes;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.whole_key_filtering = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  if (!settings.fits_in_memory()) {
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.pin_top_level_index_and_filter = true;
  }
  return table;
}

rocksdb::Options db_options(const StoreSettings& settings,
                            const std::shared_ptr<rocksdb::Statistics>& statistics) {
  const std::uint64_t write_buffer_bytes = std::clamp(settings.memory_bytes / 32, kMib, 64 * kMib);
  const auto cache = rocksdb::NewLRUCache(settings.memory_bytes);
  rocksdb::Options options;
  options.create_if_missing = !settings.loaded;
  options.create_missing_column_families = !settings.loaded;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(settings, cache)));
  options.write_buffer_size = write_buffer_bytes;
  options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(4 * write_buffer_bytes, cache);
  options.max_write_buffer_number = 4;
  options.max_write_buffer_size_to_maintain = static_cast<std::int64_t>(write_buffer_bytes / 4);
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = write_buffer_bytes;
  options.max_bytes_for_level_base = 4 * write_buffer_bytes;
  options.use_direct_reads = !settings.fits_in_memory();
  options.use_direct_io_for_flush_and_compaction = !settings.fits_in_memory();
  options.enable_pipelined_write = true;
  options.manual_wal_flush = settings.durability == Durability::async;
  options.max_total_wal_size = log_bytes_max(settings);
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

StoreEntry<RocksdbStore> entry_of(std::string name, RocksdbKind kind,
                                  std::vector<Isolation> isolations) {
  return {.traits = {.name = std::move(name),
                     .isolations = std::move(isolations),
                     .durabilities = {Durability::async, Durability::sync},
                     .memory_mib_min = kMemoryMibMin},
          .open = [kind](const StoreSettings& settings) {
            return std::make_unique<RocksdbStore>(settings, kind);
          }};
}

}  // namespace

RocksdbStore::RocksdbStore(const StoreSettings& settings, RocksdbKind kind)
    : kind_(kind),
      isolation_(settings.isolation),
      durability_(settings.durability),
      interval_(settings.asynchronous_interval),
      direct_(!settings.fits_in_memory()),
      statistics_(counters_only()) {
  open(settings, db_options(settings, statistics_));
  if (durability_ == Durability::async) {
    flusher_ = std::make_unique<PeriodicTask>(
        interval_, [this] { rocks::ensure(db_->FlushWAL(true), "flush the log"); });
  }
}

RocksdbStore::~RocksdbStore() {
  flusher_.reset();
  destroy_families();
}

void RocksdbStore::open(const StoreSettings& settings, const rocksdb::Options& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options}};
  for (const std::string& table : settings.tables) {
    families.emplace_back(table, options);
  }
  if (kind_ == RocksdbKind::pessimistic) {
    rocksdb::TransactionDB* db = nullptr;
    rocks::ensure(
        rocksdb::TransactionDB::Open(options, {}, settings.directory, families, &families_, &db),
        "open");
    db_.reset(db);
  } else {
    rocksdb::OptimisticTransactionDB* db = nullptr;
    rocksdb::OptimisticTransactionDBOptions validation;
    validation.occ_lock_buckets = 1U << 16U;  // the default exceeds a small memory cap
    rocks::ensure(rocksdb::OptimisticTransactionDB::Open(options, validation, settings.directory,
                                                         families, &families_, &db),
                  "open");
    db_.reset(db);
  }
}

std::unique_ptr<RocksdbSession> RocksdbStore::open_session(SessionUse use) {
  return std::make_unique<RocksdbSession>(*this, use);
}

void RocksdbStore::write_unlogged(rocksdb::WriteBatch& batch) const {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  rocks::ensure(db_->GetBaseDB()->Write(write, &batch), "write");
}

std::unique_ptr<rocksdb::Transaction> RocksdbStore::begin(
    std::unique_ptr<rocksdb::Transaction> old) const {
  rocksdb::WriteOptions write;
  write.sync = durability_ == Durability::sync;
  if (kind_ == RocksdbKind::pessimistic) {
    rocksdb::TransactionOptions options;
    options.set_snapshot = takes_snapshots();
    options.deadlock_detect = true;
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
  return counts;
}

std::string RocksdbStore::description() const {
  return fmt::format("{} transactions, a column family a table; files by {}; log: {}",
                     kind_ == RocksdbKind::pessimistic ? "pessimistic" : "optimistic",
                     direct_ ? "direct I/O" : "the page cache",
                     durability_ == Durability::sync
                         ? std::string("WriteOptions::sync, group commit")
                         : fmt::format("FlushWAL(sync) every {} ms", interval_.count()));
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
  if (flusher_) {
    flusher_->stop();
  }
  rocks::ensure(db_->FlushWAL(true), "flush the log");
  flush();
  destroy_families();
  rocks::ensure(db_->Close(), "close");
}

StoreEntry<RocksdbStore> rocksdb_store() {
  return entry_of("rocksdb", RocksdbKind::pessimistic, {Isolation::snapshot, Isolation::none});
}

StoreEntry<RocksdbStore> rocksdb_optimistic_store() {
  return entry_of("rocksdb_optimistic", RocksdbKind::optimistic, {Isolation::snapshot});
}

}  // namespace palimpsest::experiments::oltp
