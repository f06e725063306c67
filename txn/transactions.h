// The transactions of a database: which are active, and what each pins in the log.
//
// There is one Transaction object per worker slot, made on first use and reused. begin() claims a
// slot by one compare-and-swap; it writes nothing shared but the slot's own words.
// Latching: making_ for making the objects, and waiting_mutex_, on which threads that wait for a
// slot sleep.
// Thread-safety: all functions, from any thread; the destructor when no handle is left.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/experimental.h"
#include "palimpsest/function_ref.h"

#include "base/clock.h"
#include "base/log_sink.h"
#include "base/worker_slots.h"
#include "btree/space_reclaimer.h"
#include "buffer/buffer_pool.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"
#include "txn/deferred_frees.h"
#include "txn/definer_waits.h"
#include "txn/transaction.h"
#include "txn/tree_directory.h"
#include "txn/version_memory.h"
#include "versioning/bulk_epochs.h"
#include "versioning/entry_memory.h"
#include "versioning/read_memory.h"
#include "versioning/snapshots.h"
#include "wal/background_committer.h"
#include "wal/log.h"

namespace palimpsest::txn {

/// What transactions work on; all of it outlives them.
struct Parts {
  wal::Log& log;
  Clock& clock;
  WorkerSlots& slots;
  versioning::EntryMemory& entries;
  buffer::PageWriter& writer;
  buffer::SpaceMap& space;
  buffer::BufferPool& pool;
  TreeDirectory& trees;
  versioning::BulkEpochs& epochs;
  btree::SpaceReclaimer* reclaimer = nullptr;  ///< null: changes that find no space fail
};

struct TransactionOptions {
  /// How long begin() waits for a free slot.
  std::chrono::milliseconds begin_patience{10'000};
  /// An asynchronous commit is on its way to disk at most this long after it was made.
  std::chrono::milliseconds asynchronous_interval{10};
  /// Memory that versions, entries and mapping tables may take together.
  std::uint64_t version_bytes_max = std::uint64_t{16} << 20U;
  /// Memory that the read sets of serializable transactions may take together.
  std::uint64_t read_bytes_max = std::uint64_t{4} << 20U;
  ExperimentalOptions experimental{};
  LogSink log{};  ///< hears of cancellations
};

class Transactions {
 public:
  Transactions(const Parts& parts, const TransactionOptions& options);
  ~Transactions();
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;

  /// `use`: `reads` for a transaction that will not write: it then pins less in memory. Throws
  /// too_many_transactions when no slot became free in time; bad_alloc.
  [[nodiscard]] TransactionPtr begin(Durability durability = Durability::synchronous,
                                     Isolation isolation = Isolation::none,
                                     SnapshotUse use = SnapshotUse::reads_and_writes);

  /// The outcome of a wait for writers.
  struct WriterWait {
    enum class End : std::uint8_t { have_ended = 1, timed_out, circle };
    End end = End::have_ended;
    std::string table;  ///< for a cycle: the table that the other definer waits for
  };
  /// Waits until all transactions that have changed something by now, except `by`, have ended. The
  /// caller has made sure that later ones keep out of the way of what `by` does to this table: each
  /// publishes that it changes something (oldest()) before it checks whether it may. Throws
  /// invalid_argument if one of them is this thread's own.
  [[nodiscard]] WriterWait wait_for_writers(const Transaction& by, std::string_view table,
                                            std::chrono::steady_clock::time_point until);
  /// Whether this definer waits for a transaction of this thread, so that waiting for the definer
  /// is in vain.
  [[nodiscard]] bool waits_for_own(const Transaction& definer, const OwnWait& own) const {
    return definer_waits_.waits_for_own(definer, own);
  }
  /// The current transaction of the writer with this id; null if there is none.
  [[nodiscard]] const Transaction* writer(versioning::WriterId id) const noexcept;
  /// The transaction with the oldest snapshot in use; null if there is none.
  [[nodiscard]] const Transaction* owner_of_oldest_snapshot() const noexcept;
  /// A description for error messages.
  [[nodiscard]] std::string oldest_reader_text() const;

  /// No snapshot, present or future, is older than this, except cancelled ones.
  [[nodiscard]] Gsn horizon() const noexcept { return snapshots_.horizon(); }
  /// Lists all snapshots in use, in the form that pruning uses. Throws std::bad_alloc.
  void scan_snapshots(versioning::Snapshots::Scan& into) const { snapshots_.scan(into); }
  /// The holder of the oldest snapshot in use.
  struct OldestReader {
    SlotId slot;
    std::chrono::milliseconds age;  ///< of its transaction
    bool only_reads;                ///< begun to read only, as cursors without a transaction are
  };
  [[nodiscard]] std::optional<OldestReader> oldest_reader() const noexcept;
  /// No later commit is durable before everything that has been appended by now, committed or not:
  /// for a caller that relies on having seen it on pages.
  void cover_all_appended() noexcept { parts_.clock.raise(parts_.slots.newest_gsn()); }
  /// Reads the clock: at least the timestamp of every commit that has returned.
  [[nodiscard]] Gsn now() const noexcept { return parts_.clock.now(); }

  // For the checkpointer

  /// No change that may have to be undone, or that has pending frees, has a record with a GSN up to
  /// this; the largest GSN if there is none. A transaction that begins to write later has a larger
  /// one than the clock's reading before.
  [[nodiscard]] Gsn oldest() const;
  /// Asks transactions that may have changes at or below `gsn` to end, and ends those that are
  /// idle, at most `most` of them. Returns how many there were.
  std::size_t cancel_older_than(
      Gsn gsn, std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept;
  /// Cancels the snapshots that delay pending frees with a record at or below `gsn`. Returns how
  /// many.
  std::size_t cancel_snapshots_for(Gsn gsn) noexcept;
  /// As free_pending(), but ignores errors: a caller that needs the space meets them.
  void free_due() noexcept;
  /// Frees what durable commits released. Returns whether there was any. Throws failed.
  bool free_pending() { return deferred_frees_.run_due(snapshots_.horizon()); }
  /// As free_pending(), for all commits that have returned: waits until they are durable.
  bool free_deferred();
  /// Retires bulks that every snapshot sees (versioning/bulk_epochs.h).
  void retire_bulks() noexcept { parts_.epochs.retire(snapshots_.horizon()); }
  [[nodiscard]] DeferredFrees& deferred_frees() noexcept { return deferred_frees_; }

  // For validation

  [[nodiscard]] Gsn clock_now() const noexcept { return parts_.clock.now(); }
  /// For each slot except `except`: waits until no transaction can still get a date up to `upto`
  /// without its versions bearing it; then calls visit(version), under the buffer's latch, for
  /// versions with dates in (after, upto], until visit returns false. Returns whether it never did.
  /// `upto`: a reading of the clock. No latch is held by the caller.
  bool visit_dated(SlotId except, Gsn after, Gsn upto,
                   FunctionRef<bool(const versioning::Version&)> visit) const noexcept;
  /// Whether a transaction that changed definitions, or was a bulk, has a date above `snapshot`, or
  /// has committed and is still publishing its definitions.
  [[nodiscard]] bool has_bulk_since(Gsn snapshot) const noexcept {
    return publishing_.load() != 0 || newest_bulk_.load() > raw(snapshot);
  }

  /// The memory of read sets.
  [[nodiscard]] versioning::ReadMemory& read_memory() noexcept { return read_memory_; }

  // Versions

  /// Frees versions that no snapshot needs, of all slots, until is_enough().
  void collect_versions(FunctionRef<bool()> is_enough = [] { return false; }) noexcept;
  /// Frees all of them up to `horizon`, in the background; returns whether they are gone. Gives way
  /// to owners, which also collect after each commit.
  [[nodiscard]] bool collect_versions_aside(Gsn horizon) noexcept;
  /// Returns memory that idle slots retain.
  void trim_idle() noexcept;
  /// Frees unneeded parts of mapping tables, of pages in memory that are not in use and of all
  /// others, until is_enough().
  void prune_tables(FunctionRef<bool()> is_enough) noexcept {
    parts_.pool.prune_attached(is_enough);
  }
  /// As prune_tables(), for the next `pages` pages in memory; returns how many of them lost their
  /// table.
  std::uint32_t prune_some_tables(std::uint32_t pages, FunctionRef<bool()> is_enough) noexcept {
    return parts_.pool.prune_some_attached(pages, is_enough);
  }
  /// Cancels the oldest snapshot. False if that would free nothing.
  [[nodiscard]] bool cancel_oldest_snapshot() noexcept;
  /// The versions of the oldest transaction that may write, if other transactions have committed
  /// since: beside an older reader, folding waits for its end. A hint; null if there is none.
  [[nodiscard]] const versioning::VersionBuffer* folding_waits_for() const noexcept;
  [[nodiscard]] const versioning::Snapshots& snapshots() const noexcept { return snapshots_; }
  /// Memory of versions, in whole pieces.
  [[nodiscard]] std::uint64_t version_bytes() const noexcept;
  [[nodiscard]] VersionMemory& version_memory() noexcept { return version_memory_; }

  /// Transactions that have not ended, or have without their owner knowing. The slots are read one
  /// after another, so the sum is no snapshot.
  [[nodiscard]] std::uint32_t active() const noexcept;

 private:
  friend class Transaction;
  friend class CommitDecision;
  friend struct EndTransaction;

  /// What other threads may read of a slot's newest transaction.
  struct Begun {
    std::atomic<std::chrono::milliseconds> at{};  ///< of CoarseClock
    std::atomic<bool> only_reads{false};
  };

  /// Calls use(Transaction&) for each slot that has been used.
  template <class Use>
  void for_each(Use&& use) const;
  [[nodiscard]] SlotId claim_slot();
  [[nodiscard]] Transaction& at(SlotId slot);
  void report_cancelled(SlotId slot, std::string_view message,
                        std::string_view cause) const noexcept;
  void give_back(Transaction& transaction) noexcept;
  void note_bulk(Gsn date) noexcept;
  /// For a transaction that changed definitions or was a bulk: before its commit status becomes
  /// committed.
  void begin_publishing(Gsn date) noexcept;
  /// Its definitions are published. Transactions that began before may have found half of them.
  void end_publishing() noexcept;

  const Parts parts_;
  const TransactionOptions options_;
  const ExperimentalOptions experimental_;
  versioning::ReadMemory read_memory_;
  std::unique_ptr<std::atomic<Transaction*>[]> by_slot_;
  std::unique_ptr<Begun[]> begun_;  ///< by slot: its newest transaction
  std::mutex making_;
  std::vector<std::unique_ptr<Transaction>> owned_;  ///< protected by making_
  versioning::Snapshots snapshots_;
  VersionMemory version_memory_;
  DefinerWaits definer_waits_;
  std::atomic<std::uint64_t> newest_bulk_{0};  ///< a GSN
  std::atomic<std::uint32_t> publishing_{0};
  const SlotId service_slot_;
  wal::TransactionLog service_log_;  ///< used by deferred_frees_
  DeferredFrees deferred_frees_;
  std::atomic<std::uint32_t> waiting_{0};
  std::mutex waiting_mutex_;
  std::condition_variable slot_freed_;
  wal::BackgroundCommitter committer_;  // last: its thread uses the log
};

}  // namespace palimpsest::txn
