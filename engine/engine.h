// A database in a directory: opens it, recovering from a crash if necessary, and owns all its
// parts.
//
// Files: the page file (buffer/page_file.h) and the log's (wal/log_store.h), in one directory or
// two; those of sorts (bulk/sort/sort_file.h) beside the pages: leftovers are removed at opening.
// Opening: torn pages are restored; the log's end is found; unless everything was closed cleanly,
// the log is analysed and replayed (recovery/); a new incarnation of the log begins; the changes of
// losers are undone through it; pages that winners released are freed; a checkpoint ends the
// opening. A crash anywhere in between is recovered from in the same way.
// Making: page file, log, then the catalog; last, the page file's header names the catalog's root.
// A database without a root was never finished, is empty, and is made again.
// Exclusion: the directory is locked from the first look at its files until all are open or made;
// the page file and the log's control file as long as they are open. So no process makes or removes
// what another one has found or made meanwhile. Of an unfinished database only its own log is
// removed.
//
// Thread-safety: all functions, from any thread, except open(), close() and the destructor.
// Failure: Error as the parts say. After `failed`, reads go on, and opening again recovers all that
// was acknowledged.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/backup.h"
#include "palimpsest/compaction.h"
#include "palimpsest/experimental.h"

#include "base/clock.h"
#include "base/io/device.h"
#include "base/log_sink.h"
#include "base/worker_slots.h"
#include "btree/large/large_value_store.h"
#include "btree/leaf_folder.h"
#include "btree/node/node_kind.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_file.h"
#include "buffer/page_kinds.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "bulk/bulk_ledger.h"
#include "bulk/bulk_sweep.h"
#include "engine/catalog/table_catalog.h"
#include "engine/catalog/tree_messages.h"
#include "engine/catalog/tree_pool.h"
#include "engine/checkpointer.h"
#include "engine/reclaimable_space.h"
#include "engine/recovery/progress.h"
#include "engine/space/space_keeper.h"
#include "txn/transactions.h"
#include "txn/tree_catalog.h"
#include "versioning/bulk_epochs.h"
#include "versioning/entry_memory.h"
#include "versioning/table_attachment.h"
#include "wal/log.h"
#include "wal/log_reader.h"
#include "wal/log_store.h"

namespace palimpsest::engine {

struct EngineOptions {
  /// For everything: the pool gets what the buffers of log and page writer leave.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20U;
  /// For versions, a part of memory_bytes; 0: a sixteenth.
  std::uint64_t version_bytes_max = 0;
  /// For the read sets of serializable transactions, together; 0: a 64th.
  std::uint64_t read_bytes_max = 0;
  /// For sorting the entries of an index while it is built, beside memory_bytes; 0: an eighth of
  /// that, between 1 MiB and 256 MiB.
  std::uint64_t sort_bytes = 0;
  /// Of a new database; one that exists keeps its own.
  buffer::PageFileOptions pages;
  /// Make the database if there is none.
  bool create_if_missing = true;
  /// Throw already_exists if there is a finished one.
  bool must_be_new = false;
  /// Maximum size of the log; at least four segments. The log takes what it needs.
  std::uint64_t log_bytes_max = std::uint64_t{1} << 30U;
  std::uint64_t log_segment_bytes = std::uint64_t{16} << 20U;  ///< of a new database
  /// Size of the first segments, from which later ones grow, at least log_segment_bytes_min(); 0:
  /// all segments have one size.
  std::uint64_t log_first_segment_bytes = 0;
  /// Longest time that recovery should take; bounds the log to be replayed.
  std::chrono::seconds recovery_time{10};
  /// If not 0: that bound, instead.
  std::uint64_t replay_bytes_max = 0;
  /// Threads of recovery.
  std::size_t recovery_threads = 2;
  std::uint32_t max_transactions = 1024;
  txn::TransactionOptions transactions;
  /// Whether threads of their own make checkpoints, empty dropped tables, sweep after bulks, and
  /// return space; otherwise the owner calls checkpointer(), tree_pool(), bulk_sweep() and
  /// space_keeper().
  bool background_threads = true;
  /// Whether these include all but checkpoints: aborted bulks are undone from the opening on.
  bool background_sweeps = true;
  /// How long a change of a table's definition waits for transactions that have written something.
  std::chrono::milliseconds definition_patience{10'000};
  /// First pause before undoing a bulk on a damaged page is tried again.
  std::chrono::milliseconds sweep_pause{1'000};
  /// Receives messages under any latch: it must not wait (base/message_log.h).
  LogSink log{};
  ProgressCallback progress;
};

struct RecoveryOutcome {
  bool was_needed = false;
  std::uint64_t log_bytes = 0;        ///< replayed
  std::uint64_t changes_applied = 0;  ///< one per change and page
  std::uint64_t losers = 0;           ///< transactions rolled back
  std::chrono::milliseconds analysis{0};
  std::chrono::milliseconds redo{0};
  std::chrono::milliseconds undo{0};
};

class Engine {
 public:
  /// Minimum memory, and minimum segment size of the log, of a new database with this page size.
  [[nodiscard]] static std::uint64_t memory_bytes_min(std::uint32_t page_size_bytes);
  [[nodiscard]] static std::uint64_t log_segment_bytes_min(std::uint32_t page_size_bytes);

  /// The devices outlive it; both may be the same.
  [[nodiscard]] static std::unique_ptr<Engine> open(io::Device& pages, io::Device& log,
                                                    const EngineOptions& options);
  /// Closes it if close() was not called; recovery makes up for what fails.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] txn::TransactionPtr begin(
      txn::Durability durability = txn::Durability::synchronous,
      txn::Isolation isolation = txn::Isolation::snapshot,
      txn::SnapshotUse use = txn::SnapshotUse::reads_and_writes) {
    return transactions_->begin(durability, isolation, use);
  }
  /// Makes a tree, durably; null if there is one of that name.
  [[nodiscard]] btree::BTree* make_tree(std::string_view name) {
    return catalog_->make(*transactions_, name);
  }
  /// Null if there is none. It stays open until the database is closed.
  [[nodiscard]] btree::BTree* find_tree(std::string_view name) { return catalog_->find(name); }

  /// Copies the database, which is in use, into an empty directory. Throws as back_up() in
  /// backup/backup.h, and locked if another backup is under way.
  BackupReport back_up(io::Device& into, const BackupOptions& options);

  /// Makes the page file as short as its contents allow. Throws as Compaction (space/compaction.h),
  /// and locked if one is under way, or the database is being closed.
  CompactionReport compact(const CompactionOptions& options);
  [[nodiscard]] SpaceKeeper& space_keeper() noexcept { return *space_keeper_; }

  /// Writes everything to disk and cuts off a long free end of the page file, so that opening needs
  /// no redo. Afterwards only the destructor may be called. Throws invalid_argument if a
  /// transaction is active, or a backup is made: it stays open. Throws io_error, no_space, failed:
  /// it is closed all the same, and recovery will do the rest.
  void close();
  /// Whether only the destructor may be called.
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

  [[nodiscard]] const RecoveryOutcome& recovery() const noexcept { return recovery_; }
  [[nodiscard]] Checkpointer& checkpointer() noexcept { return *checkpointer_; }
  [[nodiscard]] txn::Transactions& transactions() noexcept { return *transactions_; }
  [[nodiscard]] txn::TreeCatalog& catalog() noexcept { return *catalog_; }
  [[nodiscard]] TableCatalog& tables() noexcept { return *table_catalog_; }
  [[nodiscard]] TreePool& tree_pool() noexcept { return *tree_pool_; }
  [[nodiscard]] bulk::BulkSweep& bulk_sweep() noexcept { return *bulk_sweep_; }
  [[nodiscard]] const bulk::BulkLedger& bulk_ledger() const noexcept { return *bulk_ledger_; }
  [[nodiscard]] versioning::BulkEpochs& bulk_epochs() noexcept { return *epochs_; }
  [[nodiscard]] wal::Log& log() noexcept { return *log_; }
  [[nodiscard]] buffer::BufferPool& pool() noexcept { return *pool_; }
  [[nodiscard]] buffer::SpaceMap& space() noexcept { return *space_; }
  [[nodiscard]] buffer::PageFile& file() noexcept { return *file_; }
  [[nodiscard]] versioning::EntryMemory& entries() noexcept { return entries_; }
  /// Maximum size of the log, in its own segments.
  [[nodiscard]] std::uint64_t log_bytes_max() const noexcept {
    return store_->segments().bytes_max();
  }
  [[nodiscard]] std::uint64_t log_segment_bytes() const noexcept {
    return store_->segments().segment_bytes();
  }
  /// Memory and device for sorting records of a table.
  [[nodiscard]] SortSpace sort_space() const;

 private:
  /// What analysis leaves to be done after the log has begun.
  struct Unfinished;

  Engine(io::Device& pages, io::Device& log, const EngineOptions& options);

  void make_files();
  void open_files();
  void require_new() const;
  void remove_unfinished();
  void require_own_log(const wal::LogControl& control) const;
  void start();
  [[nodiscard]] Unfinished recover(const wal::LogReader& reader, Gsn replayed_up_to);
  void begin_log(const wal::LogEnd& end);
  void make_parts();
  void make_transactions();
  void make_checkpointer();
  void finish_recovery(const Unfinished& unfinished);
  void make_catalog();
  void make_definitions();
  void start_background();
  void cut_long_tail();
  std::uint64_t cut_tail(std::uint64_t pages_min);
  [[nodiscard]] CompactedParts compacted_parts();
  [[nodiscard]] wal::LogFileOptions log_file_options() const;
  [[nodiscard]] wal::LogOptions log_options();
  [[nodiscard]] txn::TransactionOptions transaction_options() const;
  [[nodiscard]] std::uint64_t pool_bytes() const;
  [[nodiscard]] std::uint64_t replay_bytes_max() const;

  io::Device& page_device_;
  io::Device& log_device_;
  const EngineOptions options_;
  RecoveryOutcome recovery_;
  bool making_ = false;  ///< there is no database yet
  bool opened_ = false;  ///< if false, a partly opened database must not be closed as clean
  bool closed_ = false;
  std::atomic<bool> is_copied_{false};     ///< a backup is made, or it is being closed
  std::atomic<bool> is_compacted_{false};  ///< pages are moved, or it is being closed
  std::mutex cutting_;                     ///< held while the file is cut, which is_copied_ forbids

  // In the order in which they are made; destroyed in reverse order.
  std::unique_ptr<buffer::PageFile> file_;
  std::optional<wal::LogStore> store_;
  Clock clock_;
  std::optional<WorkerSlots> slots_;
  std::atomic<Checkpointer*> woken_by_log_{nullptr};
  std::unique_ptr<wal::Log> log_;
  std::optional<buffer::SpaceMap> space_;
  std::optional<buffer::PageWriter> writer_;
  std::optional<btree::NodeKind> node_kind_;
  versioning::EntryMemory entries_;
  versioning::TableAttachment tables_{entries_};
  TreeMessages tree_messages_;
  buffer::PageKinds kinds_;
  std::optional<buffer::BufferPool> pool_;
  std::optional<versioning::BulkEpochs> epochs_;
  std::optional<btree::LargeValueStore> large_values_;
  std::optional<txn::TreeCatalog> catalog_;
  ReclaimableSpace reclaimable_space_;
  std::optional<txn::Transactions> transactions_;
  /// Folding reads the snapshots of transactions_, so it stops before these are destroyed.
  struct StopFolding {
    void operator()(versioning::TableAttachment* tables) const noexcept {
      tables->fold_with(nullptr);
    }
  };
  std::optional<btree::LeafFolder> folder_;
  std::unique_ptr<versioning::TableAttachment, StopFolding> folding_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<TreePool> tree_pool_;
  std::optional<bulk::BulkLedger> bulk_ledger_;
  std::optional<bulk::BulkSweep> bulk_sweep_;
  std::optional<TableCatalog> table_catalog_;
  std::optional<SpaceKeeper> space_keeper_;
};

}  // namespace palimpsest::engine
