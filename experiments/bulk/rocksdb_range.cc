// RocksDB: files of sorted rows that are ingested as they are, and a tombstone for a range.
//
// Settings, from the RocksDB wiki ("Creating and Ingesting SST files", "DeleteRange", "Manual
// Compaction") and the comments of options.h:
// - ingest: SstFileWriter makes files of 64 MiB and syncs each; IngestExternalFile with move_files
//   links them into the database and syncs its manifest.
// - erase: DeleteRange with WriteOptions::sync.
// - reclaim: CompactRange over everything, the last level too (kForceOptimized), without which the
//   rows stay in their files.
// - Cache, blocks and filters as in experiments/kv_bench/rocksdb_engine.cc, which names its
//   sources. No compression.
// Space: of live files; RocksDB removes obsolete ones by itself.
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "experiments/bulk/found_row.h"
#include "experiments/bulk/peer_ranges.h"
#include "experiments/common/record_key.h"
#include "experiments/peers/rocksdb.h"

namespace palimpsest::experiments::bulk {
namespace {

using rocks::ensure;
using rocks::slice_of;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kFileBytes = 64 * kMib;
constexpr std::size_t kBlockBytes = 4096;
constexpr double kBloomBitsPerKey = 10;

rocksdb::Options db_options(const RangeSettings& settings) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.memory_bytes);
  table.block_size = kBlockBytes;
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.format_version = 5;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = std::clamp(settings.memory_bytes / 32, kMib, 64 * kMib);
  options.max_background_jobs = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = kFileBytes;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  return options;
}

class RocksdbRange final : public RangeEngine {
 public:
  explicit RocksdbRange(const RangeSettings& settings)
      : directory_(settings.directory), options_(db_options(settings)) {
    rocksdb::DB* db = nullptr;
    ensure(rocksdb::DB::Open(options_, directory_, &db), "open");
    db_.reset(db);
  }

  void ingest(std::uint64_t rows) override {
    std::vector<std::string> files;
    for (std::uint64_t number = 0; number < rows;) {
      files.push_back(directory_ / fmt::format("ingested-{}.sst", files.size()));
      number = write_file(files.back(), number, rows);
    }
    rocksdb::IngestExternalFileOptions ingestion;
    ingestion.move_files = true;
    ensure(db_->IngestExternalFile(files, ingestion), "ingest");
  }

  void erase_below(std::uint64_t end) override {
    const RecordKey first(0);
    const RecordKey behind(end);
    rocksdb::WriteOptions write;
    write.sync = true;
    ensure(db_->DeleteRange(write, db_->DefaultColumnFamily(), slice_of(first.view()),
                            slice_of(behind.view())),
           "delete a range");
  }

  double reclaim() override {
    const auto begin = std::chrono::steady_clock::now();
    rocksdb::CompactRangeOptions compaction;
    compaction.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    ensure(db_->CompactRange(compaction, nullptr, nullptr), "compact");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  FoundRows find_rows(std::uint64_t rows_max) override {
    FoundRows found;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    for (at->SeekToFirst(); found.rows < rows_max && at->Valid(); at->Next()) {
      see_row(found, record_of(at->key().ToStringView()), at->value().ToStringView());
    }
    ensure(at->status(), "scan");
    return found;
  }

  std::optional<std::uint64_t> last_row() override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    at->SeekToLast();
    ensure(at->status(), "go to the last row");
    return at->Valid() ? std::optional(record_of(at->key().ToStringView())) : std::nullopt;
  }

  Space space() override {
    std::uint64_t bytes = 0;
    if (!db_->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &bytes)) {
      throw std::runtime_error("rocksdb: the size of its files is unknown");
    }
    return {.data_bytes = bytes};
  }

  std::optional<std::uint64_t> version_bytes() const override { return std::nullopt; }
  std::string description() const override {
    return "files by SstFileWriter, ingested; DeleteRange, then CompactRange";
  }

  void close() override { ensure(db_->Close(), "close"); }

 private:
  /// Writes rows until the file is full; returns the number of the next one.
  std::uint64_t write_file(const std::string& file, std::uint64_t number, std::uint64_t end) const {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    ensure(writer.Open(file), "make a file");
    Row row;
    for (; number < end && writer.FileSize() < kFileBytes; ++number) {
      make_row(number, row);
      const RecordKey key(number);
      const RowValue value(row);
      ensure(writer.Put(slice_of(key.view()), slice_of(value.view())), "put");
    }
    ensure(writer.Finish(), "end a file");
    return number;
  }

  const std::filesystem::path directory_;
  const rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

RangeEngineEntry rocksdb_range() {
  return {.traits = {.name = "rocksdb"},
          .open = [](const RangeSettings& settings) -> std::unique_ptr<RangeEngine> {
            return std::make_unique<RocksdbRange>(settings);
          }};
}

}  // namespace palimpsest::experiments::bulk
