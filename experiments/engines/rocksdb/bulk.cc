// RocksDB: for sorted rows, files that are ingested as they are; for shuffled rows, batches into an
// engine prepared for bulk loading; a tombstone for a range.
//
// Settings, from the RocksDB wiki ("Creating and Ingesting SST files", "DeleteRange", "Manual
// Compaction", "RocksDB FAQ: What's the fastest way to load data into RocksDB?") and the comments
// of options.h:
// - sorted: SstFileWriter makes files of 64 MiB and syncs each; IngestExternalFile with move_files
//   links them into the database and syncs its manifest.
// - shuffled: there is no external sort. As the FAQ says: PrepareForBulkLoad, a memtable that is a
//   vector, large batches of one thread, no log; Flush makes all durable. Files overlap then, and
//   CompactRange puts them in order, which is settle().
// - PrepareForBulkLoad allows six memtables: they get three quarters of the memory of a load.
// - erase: DeleteRange with WriteOptions::sync. settle() is CompactRange over everything, the last
//   level too (kForceOptimized), without which the rows stay in their files.
// - Cache, blocks and filters as options.h has them. No compression.
// Space: of live files; RocksDB removes obsolete ones by itself.
#include <rocksdb/db.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <vector>

#include "experiments/engines/bulk_store.h"
#include "experiments/engines/rocksdb/options.h"

namespace palimpsest::experiments {
namespace {

using rocks::ensure;
using rocks::kMib;
using rocks::slice_of;
using rocks::view_of;

constexpr std::uint64_t kFileBytes = 64 * kMib;
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kBatchBytes = std::size_t{256} << 10U;

rocksdb::Options of_load(const BulkSettings& settings) {
  rocksdb::Options options =
      rocks::common_options(rocks::hashed_table(settings.memory_bytes / 4, kBlockBytes),
                            std::max(settings.memory_bytes / 8, kMib));
  if (!settings.sorted) {
    const rocksdb::Options common = options;
    options.PrepareForBulkLoad();
    options.memtable_factory = std::make_shared<rocksdb::VectorRepFactory>();
    options.allow_concurrent_memtable_write = false;
    options.max_background_jobs = common.max_background_jobs;
    options.write_buffer_size = common.write_buffer_size;
  }
  return options;
}

rocksdb::Options options_of(const BulkSettings& settings) {
  rocksdb::Options options;
  if (settings.restartable) {
    options = of_load(settings);
  } else {
    options = rocks::common_options(rocks::hashed_table(settings.memory_bytes, kBlockBytes),
                                    std::clamp(settings.memory_bytes / 32, kMib, 64 * kMib));
    options.level_compaction_dynamic_level_bytes = true;
  }
  options.target_file_size_base = kFileBytes;
  return options;
}

class RocksdbBulk final : public BulkStore {
 public:
  explicit RocksdbBulk(const BulkSettings& settings)
      : settings_(settings), options_(options_of(settings)) {
    rocksdb::DB* db = nullptr;
    ensure(rocksdb::DB::Open(options_, settings.directory, &db), "open");
    db_.reset(db);
  }

  void put(ByteView key, ByteView value) override {
    if (settings_.sorted) {
      put_into_file(key, value);
      return;
    }
    ensure(batch_.Put(slice_of(key), slice_of(value)), "put");
    if (batch_.GetDataSize() >= kBatchBytes) {
      write_batch();
    }
  }

  void make_durable() override {
    if (!settings_.sorted) {
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

  void erase_through(ByteView last) override {
    const std::string end = std::string(last) + '\0';  // the smallest key above
    rocksdb::WriteOptions write;
    write.sync = true;
    ensure(db_->DeleteRange(write, db_->DefaultColumnFamily(), {}, slice_of(end)),
           "delete a range");
  }

  void settle() override {
    rocksdb::CompactRangeOptions compaction;
    if (!settings_.restartable) {
      compaction.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    } else if (settings_.sorted) {
      return;
    } else {
      compaction.max_subcompactions = static_cast<std::uint32_t>(options_.max_background_jobs);
    }
    ensure(db_->CompactRange(compaction, nullptr, nullptr), "compact");
  }

  void visit(FunctionRef<bool(ByteView key, ByteView value)> seen) override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    for (at->SeekToFirst(); at->Valid() && seen(view_of(at->key()), view_of(at->value()));
         at->Next()) {
    }
    ensure(at->status(), "scan");
  }

  std::optional<std::string> last_key() override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
    at->SeekToLast();
    ensure(at->status(), "go to the last row");
    return at->Valid() ? std::optional(at->key().ToString()) : std::nullopt;
  }

  Space space() override {
    std::uint64_t bytes = 0;
    if (!db_->GetIntProperty(rocksdb::DB::Properties::kLiveSstFilesSize, &bytes)) {
      throw std::runtime_error("rocksdb: the size of its files is unknown");
    }
    return {.data_bytes = bytes};
  }

  std::string description() const override {
    if (!settings_.restartable) {
      return "files by SstFileWriter, ingested; DeleteRange, then CompactRange";
    }
    return settings_.sorted ? "files by SstFileWriter, ingested"
                            : "batches, PrepareForBulkLoad, a flush; then CompactRange";
  }

  void close() override { ensure(db_->Close(), "close"); }

 private:
  void put_into_file(ByteView key, ByteView value) {
    if (!writer_) {
      files_.push_back(settings_.directory / fmt::format("ingested-{}.sst", files_.size()));
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

  const BulkSettings settings_;
  const rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<std::string> files_;                  ///< that wait to be ingested
  std::unique_ptr<rocksdb::SstFileWriter> writer_;  ///< of the last of them, unless it is full
  rocksdb::WriteBatch batch_;
};

}  // namespace

BulkEntry rocksdb_bulk() {
  return {.traits = {.name = "rocksdb"}, .open = [](const BulkSettings& settings) {
            return std::make_unique<RocksdbBulk>(settings);
          }};
}

}  // namespace palimpsest::experiments
