// RocksDB: for sorted rows, files that are ingested as they are; for shuffled rows, batches into an
// engine prepared for bulk loading.
//
// Settings, from the RocksDB wiki ("Creating and Ingesting SST files", "RocksDB FAQ: What's the
// fastest way to load data into RocksDB?") and the comments of options.h:
// - sorted: SstFileWriter makes files of 64 MiB and syncs each; IngestExternalFile with move_files
//   links them into the database and syncs its manifest.
// - shuffled: there is no external sort. As the FAQ says: PrepareForBulkLoad, a memtable that is a
//   vector, large batches of one thread, no log; Flush makes all durable. Files overlap then, and
//   CompactRange puts them in order, which is settle().
// - PrepareForBulkLoad allows six memtables: they get three quarters of the memory.
// - Blocks and filters as in experiments/kv_bench/rocksdb_engine.cc, which names its sources. No
//   compression.
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <thread>

#include "experiments/files/load_engine.h"
#include "experiments/peers/rocksdb.h"

namespace palimpsest::experiments::files {
namespace {

using rocks::ensure;
using rocks::slice_of;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kFileBytes = 64 * kMib;
constexpr std::size_t kBlockBytes = 4096;
constexpr double kBloomBitsPerKey = 10;
constexpr std::size_t kBatchBytes = std::size_t{256} << 10U;

unsigned processors() {
  return std::max(2U, std::thread::hardware_concurrency());
}

rocksdb::Options db_options(const LoadSettings& settings) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.memory_bytes / 4);
  table.block_size = kBlockBytes;
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  rocksdb::Options options;
  if (!settings.sorted) {
    options.PrepareForBulkLoad();
    options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
    options.allow_concurrent_memtable_write = false;
  }
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = std::max(settings.memory_bytes / 8, kMib);
  options.max_background_jobs = static_cast<int>(processors());
  options.target_file_size_base = kFileBytes;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

class RocksdbLoad final : public LoadEngine {
 public:
  explicit RocksdbLoad(const LoadSettings& settings)
      : sorted_(settings.sorted), directory_(settings.directory), options_(db_options(settings)) {
    rocksdb::DB* db = nullptr;
    ensure(rocksdb::DB::Open(options_, directory_, &db), "open");
    db_.reset(db);
  }

  void put(ByteView key, ByteView value) override {
    if (sorted_) {
      put_into_file(key, value);
      return;
    }
    ensure(batch_.Put(slice_of(key), slice_of(value)), "put");
    if (batch_.GetDataSize() >= kBatchBytes) {
      write_batch();
    }
  }

  void make_durable() override {
    if (!sorted_) {
      write_batch();
      ensure(db_->Flush({}), "flush");
      return;
    }
    end_file();
    if (!files_.empty()) {
      rocksdb::IngestExternalFileOptions ingestion;
      ingestion.move_files = true;
      ensure(db_->IngestExternalFile(files_, ingestion), "ingest");
    }
  }

  void settle() override {
    if (!sorted_) {
      rocksdb::CompactRangeOptions compaction;
      compaction.max_subcompactions = processors();
      ensure(db_->CompactRange(compaction, nullptr, nullptr), "compact");
    }
  }

  void for_each(FunctionRef<void(ByteView key, ByteView value)> seen) override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      seen(at->key().ToStringView(), at->value().ToStringView());
    }
    ensure(at->status(), "scan");
  }

  std::string description() const override {
    return sorted_ ? "files by SstFileWriter, ingested"
                   : "batches, PrepareForBulkLoad, a flush; then CompactRange";
  }

  void close() override { ensure(db_->Close(), "close"); }

 private:
  void put_into_file(ByteView key, ByteView value) {
    if (!writer_) {
      files_.push_back(directory_ / fmt::format("ingested-{}.sst", files_.size()));
      writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), options_);
      ensure(writer_->Open(files_.back()), "make a file");
    }
    ensure(writer_->Put(slice_of(key), slice_of(value)), "put");
    if (writer_->FileSize() >= kFileBytes) {
      end_file();
    }
  }
  void end_file() {
    if (writer_) {
      ensure(writer_->Finish(), "end a file");
      writer_.reset();
    }
  }
  void write_batch() {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    ensure(db_->Write(write, &batch_), "write a batch");
    batch_.Clear();
  }

  const bool sorted_;
  const std::filesystem::path directory_;
  const rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::string> files_;                  ///< that wait to be ingested
  std::unique_ptr<rocksdb::SstFileWriter> writer_;  ///< of the last of them, unless it is full
  rocksdb::WriteBatch batch_;
};

}  // namespace

LoadEngineEntry rocksdb_load() {
  return {.traits = {.name = "rocksdb"},
          .open = [](const LoadSettings& settings) -> std::unique_ptr<LoadEngine> {
            return std::make_unique<RocksdbLoad>(settings);
          }};
}

}  // namespace palimpsest::experiments::files
