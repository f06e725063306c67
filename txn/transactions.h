// The transactions of a database: who is active, and what that keeps in the log.
//
// One Transaction object a worker slot, made on first use and used again. begin() claims a slot by
// one compare-and-swap; nothing shared is written but the slot's own words.
// Latching: a mutex for making the objects, and one that those sleep on who wait for a slot.
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
  btree::SpaceReclaimer* reclaimer = nullptr;  ///< null: changes without room just fail
};

struct TransactionOptions {
  /// How long begin() waits for a free slot.
  std::chrono::milliseconds begin_patience{10'000};
  /// An asynchronous commit is on its way to disk at most this long after it was made.
  std::chrono::milliseconds asynchronous_interval{10};
  /// What versions and all that belongs to them may take.
  std::uint64_t version_bytes_max = std::uint64_t{16} << 20U;
  /// What serializable transactions may remember of what they have read, together.
  std::uint64_t read_bytes_max = std::uint64_t{4} << 20U;
  ExperimentalOptions experimental{};
};

class Transactions {
 public:
  Transactions(const Parts& parts, const TransactionOptions& options);
  ~Transactions();
  Transactions(const Transactions&) = delete;
  Transactions& operator=(const Transactions&) = delete;

  /// `use`: reads, of one that will write nothing: it then keeps less in memory. Throws
  /// too_many_transactions when no slot became free in time; bad_alloc.
  [[nodiscard]] TransactionPtr begin(Durability durability = Durability::synchronous,
                                     Isolation isolation = Isolation::none,
                                     SnapshotUse use = SnapshotUse::reads_and_writes);

  /// What waiting for writers has come to.
  struct WriterWait {
    enum class End : std::uint8_t { have_ended = 1, timed_out, circle };
    End end = End::have_ended;
    std::string table;  ///< of a circle: for whose sake the other one waits
  };
  /// Waits until all transactions that have changed something by now, but for `by`, have ended. For
  /// whoever has made sure that later ones keep out of the way of what `by` does to this table:
  /// each says that it changes something (oldest()) before it looks whether it may. Throws
  /// invalid_argument if one is this thread's own.
  [[nodiscard]] WriterWait wait_for_writers(const Transaction& by, std::string_view table,
                                            std::chrono::steady_clock::time_point until);
  /// Whether this definer waits for a transaction of this thread, so that waiting for the definer
  /// is in vain.
  [[nodiscard]] bool waits_for_own(const Transaction& definer, const OwnWait& own) const {
    return definer_waits_.waits_for_own(definer, own);
  }
  /// The transaction, of now, of the writer with this id; null if there is none.
  [[nodiscard]] const Transaction* writer(versioning::WriterId id) const noexcept;
  /// The transaction that has the oldest snapshot in use; null if there is none.
  [[nodiscard]] const Transaction* owner_of_oldest_snapshot() const noexcept;
  /// For people.
  [[nodiscard]] std::string oldest_reader_text() const;

  /// All snapshots, of now and of later, are from this on, but for those that were cancelled.
  [[nodiscard]] Gsn horizon() const noexcept { return snapshots_.horizon(); }
  /// All snapshots in use, as pruning looks at them. Throws std::bad_alloc.
  void scan_snapshots(versioning::Snapshots::Scan& into) const { snapshots_.scan(into); }
  /// Who has the oldest snapshot in use.
  struct OldestReader {
    SlotId slot;
    std::chrono::milliseconds age;  ///< of its transaction
    bool only_reads;                ///< it was begun to read, as cursors of their own are
  };
  [[nodiscard]] std::optional<OldestReader> oldest_reader() const noexcept;
  /// Whatever commits from now on is not durable before all that was appended until now, by others,
  /// and not committed: for who relies on having seen it on pages.
  void cover_all_appended() noexcept { parts_.clock.raise(parts_.slots.newest_gsn()); }
  /// The clock: at least the timestamp of every commit that has returned.
  [[nodiscard]] Gsn now() const noexcept { return parts_.clock.now(); }

  // For the checkpointer

  /// No change that may have to be undone, or whose pages are to be freed, has a record with a GSN
  /// up to this; the largest GSN if there is none. A transaction that begins to write later has a
  /// larger one than the clock's reading before.
  [[nodiscard]] Gsn oldest() const;
  /// Asks transactions whose changes may begin at or below `gsn` to end, and ends those that are
  /// idle, `most` of them. Returns how many there were.
  std::size_t cancel_older_than(
      Gsn gsn, std::size_t most = std::numeric_limits<std::size_t>::max()) noexcept;
  /// Cancels the snapshots that keep pages from being freed whose records are not above `gsn`.
  /// Returns how many.
  std::size_t cancel_snapshots_for(Gsn gsn) noexcept;
  /// Frees what durable commits gave up. Errors are left to whoever needs space.
  void free_due() noexcept;
  /// The same; throws failed. Whether there was any.
  bool free_pending() { return deferred_frees_.run_due(snapshots_.horizon()); }
  /// The same of all commits that have returned: waits until they are durable.
  bool free_deferred();
  /// What everybody sees of bulks can be retired from now on (versioning/bulk_epochs.h).
  void retire_bulks() noexcept { parts_.epochs.retire(snapshots_.horizon()); }
  [[nodiscard]] DeferredFrees& deferred_frees() noexcept { return deferred_frees_; }

  // For validation

  [[nodiscard]] Gsn clock_now() const noexcept { return parts_.clock.now(); }
  /// Waits, for each slot but this one, until nobody can come to have a date up to that any more
  /// whose versions do not bear it; then visit(version), with its buffer's latch, for those with
  /// dates in (after, upto], until it returns false; whether it never did. `upto`: a reading of the
  /// clock. No latch is held.
  bool visit_dated(SlotId except, Gsn after, Gsn upto,
                   FunctionRef<bool(const versioning::Version&)> visit) const noexcept;
  /// Whether a transaction that has changed definitions, or was a bulk, has a date above this, or
  /// has committed and not everybody finds what it has changed yet.
  [[nodiscard]] bool has_bulk_since(Gsn snapshot) const noexcept {
    return publishing_.load() != 0 || newest_bulk_.load() > raw(snapshot);
  }

  /// What serializable transactions remember.
  [[nodiscard]] versioning::ReadMemory& read_memory() noexcept { return read_memory_; }

  // Versions

  /// Frees those that no snapshot needs, of all slots, until it is enough.
  void collect_versions(FunctionRef<bool()> is_enough = [] { return false; }) noexcept;
  /// The same for all up to `horizon`, in the background: whether they have gone. Gives way to
  /// owners, who collect after each commit, too.
  [[nodiscard]] bool collect_versions_aside(Gsn horizon) noexcept;
  /// Gives back what slots keep that nobody uses now.
  void trim_idle() noexcept;
  /// Frees what nobody needs of mapping tables, of pages in memory that are not in use, and of all
  /// others, until it is enough.
  void prune_tables(FunctionRef<bool()> is_enough) noexcept {
    parts_.pool.prune_attached(is_enough);
  }
  /// The same for the next `pages` pages in memory; how many of them have lost their table.
  std::uint32_t prune_some_tables(std::uint32_t pages, FunctionRef<bool()> is_enough) noexcept {
    return parts_.pool.prune_some_attached(pages, is_enough);
  }
  /// False if that would free nothing.
  [[nodiscard]] bool cancel_oldest_snapshot() noexcept;
  /// Whose end folding waits for, beside an older reader: the versions of the oldest transaction
  /// that may write, if others have committed since. A hint; null if there is none.
  [[nodiscard]] const versioning::VersionBuffer* folding_waits_for() const noexcept;
  [[nodiscard]] const versioning::Snapshots& snapshots() const noexcept { return snapshots_; }
  /// Of versions, in whole pieces.
  [[nodiscard]] std::uint64_t version_bytes() const noexcept;
  [[nodiscard]] VersionMemory& version_memory() noexcept { return version_memory_; }

  /// Transactions that have not ended, or whose owner does not know that they have; each is exact,
  /// together they are no snapshot.
  [[nodiscard]] std::uint32_t active() const noexcept;

 private:
  friend class Transaction;
  friend class CommitDecision;
  friend struct EndTransaction;

  /// What is said of a transaction to others.
  struct Begun {
    std::atomic<std::chrono::milliseconds> at{};  ///< of CoarseClock
    std::atomic<bool> only_reads{false};
  };

  /// Of each slot that has been used: use(Transaction&).
  template <class Use>
  void for_each(Use&& use) const;
  [[nodiscard]] SlotId claim_slot();
  [[nodiscard]] Transaction& at(SlotId slot);
  void give_back(Transaction& transaction) noexcept;
  void note_bulk(Gsn date) noexcept;
  /// Of such a transaction: before its commit status says that it has committed.
  void begin_publishing(Gsn date) noexcept;
  /// Everybody finds what it has changed; whoever began before that may have found half of it.
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
  wal::TransactionLog service_log_;  ///< of deferred_frees_
  DeferredFrees deferred_frees_;
  std::atomic<std::uint32_t> waiting_{0};
  std::mutex waiting_mutex_;
  std::condition_variable slot_freed_;
  wal::BackgroundCommitter committer_;  // last: its thread uses the log
};

}  // namespace palimpsest::txn
