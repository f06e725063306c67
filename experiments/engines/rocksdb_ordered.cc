// RocksDB: an OptimisticTransactionDB would add checks that one writer does not need, so that each
// transaction is a WriteBatch with an index, which sees its own writes.
//
// Settings: those of experiments/bulk/rocksdb_range.cc, which names its sources; WriteOptions::sync
// is false, the default. All records are replaced by DeleteRange and puts in one batch.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <thread>

#include "experiments/common/record_key.h"
#include "experiments/engines/ordered_engine.h"
#include "experiments/peers/rocksdb.h"

namespace palimpsest::experiments::engines {
namespace {

using rocks::ensure;
using rocks::slice_of;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr double kBloomBitsPerKey = 10;

rocksdb::Options options_of(const OrderedSettings& settings) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.memory_bytes);
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.format_version = 5;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = std::clamp(settings.memory_bytes / 8, kMib, 64 * kMib);
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.level_compaction_dynamic_level_bytes = true;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

class Session final : public OrderedSession {
 public:
  explicit Session(rocksdb::DB& db) : db_(db) {}

  void begin() override { batch_.Clear(); }
  void commit() override { ensure(db_.Write({}, batch_.GetWriteBatch()), "commit"); }

  void insert(std::uint64_t key, ByteView value) override {
    const RecordKey bytes(key);
    ensure(batch_.Put(slice_of(bytes.view()), slice_of(value)), "put");
  }

  std::optional<std::uint64_t> take_first() override {
    const std::unique_ptr<rocksdb::Iterator> first(db_.NewIterator({}));
    first->SeekToFirst();
    ensure(first->status(), "go to the first record");
    if (!first->Valid()) {
      return std::nullopt;
    }
    const std::uint64_t key = record_of(first->key().ToStringView());
    ensure(batch_.Delete(first->key()), "delete");
    return key;
  }

  void replace_all(std::uint64_t records, ByteView value) override {
    const RecordKey first(0);
    const RecordKey behind(~std::uint64_t{0});
    rocksdb::WriteBatch batch;
    ensure(batch.DeleteRange(slice_of(first.view()), slice_of(behind.view())), "delete all");
    for (std::uint64_t key = 0; key < records; ++key) {
      const RecordKey bytes(key);
      ensure(batch.Put(slice_of(bytes.view()), slice_of(value)), "put");
    }
    ensure(db_.Write({}, &batch), "commit");
  }

 private:
  rocksdb::DB& db_;
  rocksdb::WriteBatchWithIndex batch_;
};

class Reader final : public OrderedReader {
 public:
  explicit Reader(rocksdb::DB& db) : db_(db), snapshot_(db.GetSnapshot()) {}
  ~Reader() override { db_.ReleaseSnapshot(snapshot_); }

  std::uint64_t count() override {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options));
    std::uint64_t count = 0;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      ++count;
    }
    ensure(at->status(), "scan");
    return count;
  }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* snapshot_;
};

class Engine final : public OrderedEngine {
 public:
  explicit Engine(const OrderedSettings& settings) {
    rocksdb::DB* db = nullptr;
    ensure(rocksdb::DB::Open(options_of(settings), settings.directory, &db), "open");
    db_.reset(db);
  }

  std::unique_ptr<OrderedSession> open_session() override {
    return std::make_unique<Session>(*db_);
  }
  std::unique_ptr<OrderedReader> open_reader() override { return std::make_unique<Reader>(*db_); }
  std::string description() const override {
    return "batches without sync; an iterator takes; DeleteRange and puts replace";
  }
  void close() override { ensure(db_->Close(), "close"); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

OrderedEngineEntry rocksdb_ordered() {
  return {.traits = {.name = "rocksdb"}, .open = [](const OrderedSettings& settings) {
            return std::make_unique<Engine>(settings);
          }};
}

}  // namespace palimpsest::experiments::engines
