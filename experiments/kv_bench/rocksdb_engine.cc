// RocksDB: a log-structured merge tree.
//
// Settings, from the RocksDB wiki ("RocksDB Tuning Guide", "Block Cache", "Direct IO",
// "RocksDB Bloom Filter", "Partitioned Index Filters", "Write Buffer Manager", "Data Block Hash
// Index") and the comments of options.h, advanced_options.h and table.h:
// - One block cache of the whole memory; index and filter blocks live in it and memtables are
//   charged to it (WriteBufferManager with a cache), so that the number is a bound.
// - Direct reads and direct flush and compaction when the data exceeds memory: no second copy of
//   blocks in the page cache.
// - Write-ahead log off, no sync. No compression: the values are random bytes.
// - Bloom filters of 10 bits on whole keys; optimize_filters_for_hits, which leaves them out on the
//   last level, because every looked-up key exists. Partitioned indexes and filters when the data
//   exceeds memory.
// - Hash index in data blocks, for point lookups; block size as asked.
// - max_background_jobs: the processors, at least 2; level_compaction_dynamic_level_bytes.
// - A load ends with a full compaction, so that reads find a compacted tree.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "experiments/kv_bench/peer_engines.h"
#include "experiments/peers/rocksdb.h"

namespace palimpsest::experiments {
namespace {

using rocks::ensure;
using rocks::slice_of;

constexpr std::uint32_t kLoadBatch = 1000;
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr double kBloomBitsPerKey = 10;

rocksdb::WriteOptions write_options() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

rocksdb::ReadOptions read_options() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;  // on blocks read from the device, as every engine here does
  return options;
}

class RocksdbSession final : public KvSession {
 public:
  explicit RocksdbSession(rocksdb::DB& db) : db_(db) {}

  void insert(ByteView key, ByteView value) override {
    ensure(batch_.Put(slice_of(key), slice_of(value)), "put");
    if (batch_.Count() >= kLoadBatch) {
      finish_load();
    }
  }

  void finish_load() override {
    ensure(db_.Write(write_, &batch_), "write");
    batch_.Clear();
  }

  std::optional<std::size_t> lookup(ByteView key, std::span<char> out) override {
    if (!get(key)) {
      return std::nullopt;
    }
    std::memcpy(out.data(), value_.data(), std::min(out.size(), value_.size()));
    return value_.size();
  }

  bool update(ByteView key, RecordChange& change) override {
    if (!get(key)) {
      return false;
    }
    copy_.assign(value_.data(), value_.size());
    change(copy_);
    ensure(db_.Put(write_, slice_of(key), copy_), "put");
    return true;
  }

  void scan(ByteView from, ScanSink& sink) override {
    const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(read_));
    for (at->Seek(slice_of(from)); at->Valid(); at->Next()) {
      if (!sink.record(at->key().ToStringView(), at->value().ToStringView())) {
        break;
      }
    }
    ensure(at->status(), "scan");
  }

 private:
  /// Leaves the value pinned in value_; false if the key is absent.
  bool get(ByteView key) {
    value_.Reset();
    const rocksdb::Status status =
        db_.Get(read_, db_.DefaultColumnFamily(), slice_of(key), &value_);
    if (status.IsNotFound()) {
      return false;
    }
    ensure(status, "get");
    return true;
  }

  rocksdb::DB& db_;
  rocksdb::WriteOptions write_ = write_options();
  rocksdb::ReadOptions read_ = read_options();
  rocksdb::WriteBatch batch_;
  rocksdb::PinnableSlice value_;
  std::string copy_;
};

rocksdb::Options db_options(const EngineSettings& settings) {
  const std::uint64_t write_buffer_bytes = std::clamp(settings.memory_bytes / 32, kMib, 64 * kMib);
  const auto cache = rocksdb::NewLRUCache(settings.memory_bytes);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = settings.page_bytes;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.whole_key_filtering = true;
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  if (!settings.fits_in_memory) {
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.pin_top_level_index_and_filter = true;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.optimize_filters_for_hits = true;
  options.write_buffer_size = write_buffer_bytes;
  options.write_buffer_manager =
      std::make_shared<rocksdb::WriteBufferManager>(4 * write_buffer_bytes, cache);
  options.max_write_buffer_number = 4;
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = write_buffer_bytes;
  options.max_bytes_for_level_base = 4 * write_buffer_bytes;
  options.use_direct_reads = !settings.fits_in_memory;
  options.use_direct_io_for_flush_and_compaction = !settings.fits_in_memory;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

class RocksdbEngine final : public KvEngine {
 public:
  explicit RocksdbEngine(const EngineSettings& settings) : direct_(!settings.fits_in_memory) {
    rocksdb::DB* db = nullptr;
    ensure(rocksdb::DB::Open(db_options(settings), settings.directory, &db), "open");
    db_.reset(db);
  }

  std::unique_ptr<KvSession> open_session(SessionUse /*use*/) override {
    return std::make_unique<RocksdbSession>(*db_);
  }

  void finish_load() override {
    ensure(db_->Flush({}), "flush");
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    ensure(db_->CompactRange(options, nullptr, nullptr), "compact");
  }

  EngineStats stats() const override { return {}; }
  std::string io_description() const override { return direct_ ? "direct" : "page cache"; }

  void close() override {
    ensure(db_->Flush({}), "flush");
    ensure(db_->Close(), "close");
  }

 private:
  bool direct_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

EngineEntry rocksdb_engine() {
  return {.traits = {.name = "rocksdb", .memory_mib_min = 16},
          .open = [](const EngineSettings& settings) -> std::unique_ptr<KvEngine> {
            return std::make_unique<RocksdbEngine>(settings);
          }};
}

}  // namespace palimpsest::experiments
