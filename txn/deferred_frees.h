// Pages released by committed transactions, until they may be freed: the commit is durable, and no
// snapshot is older.
//
// When a change replaces or removes a large value, the value's pages stay allocated, because the
// change may be undone. They become free once the transaction's commit is durable. Until then the
// change stays in the part of the log that recovery replays: the checkpointer does not move
// replay's start past oldest(). Freeing is a log record of its own. Recovery frees the pages that
// winners released and that no record has freed.
//
// Latching: mutex_ protects the list. Only transactions that released large values take it; it is
// held neither across I/O nor during a wait. appending_ protects the slot that the records are
// written through; it is taken before mutex_.
// Thread-safety: all functions, from any thread.
// Invariant: log space is reserved for freeing what is pending, so that a full log does not block
// the frees that let its start advance; and no more, or each value would take some space for good.
// Failure: run_due() throws failed; what it has not freed is freed later.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "base/ids.h"
#include "btree/large/large_value_format.h"
#include "buffer/space_map.h"
#include "wal/transaction_log.h"

namespace palimpsest::txn {

class DeferredFrees {
 public:
  static constexpr Gsn kNone{std::numeric_limits<std::uint64_t>::max()};

  /// `log` writes through a slot that belongs to this object alone. Both arguments outlive it.
  /// Throws as Log::reserve().
  DeferredFrees(wal::TransactionLog& log, buffer::SpaceMap& space);
  DeferredFrees(const DeferredFrees&) = delete;
  DeferredFrees& operator=(const DeferredFrees&) = delete;

  /// Called before the commit of a transaction that released values: reserves memory and log space,
  /// so that nothing fails afterwards. Throws std::bad_alloc, and as TransactionLog::reserve().
  void prepare(wal::TransactionLog& log, std::span<const btree::LargeValueDescriptor> values);
  /// The transaction has committed at `commit`; the records of its changes are above `oldest`.
  /// Moves the values out of `values`.
  void add(Gsn commit, Gsn oldest, std::vector<btree::LargeValueDescriptor>& values) noexcept;
  /// Called in place of add(), with the values given to prepare(), if the commit failed.
  void forget_prepared(std::span<const btree::LargeValueDescriptor> values) noexcept;

  /// Frees what durable commits up to the horizon released: no snapshot sees it. Returns whether
  /// there was any. Called with no latch held; waits for rounds of the log, not for space.
  bool run_due(Gsn horizon);
  /// Frees these pages at once. Called by recovery, before there are checkpoints.
  void free_now(std::span<const buffer::PageRun> runs);

  /// No record of a pending free has a GSN up to this; kNone if nothing is pending.
  [[nodiscard]] Gsn oldest() const;
  /// The newest commit with pending frees that may have records with GSNs up to `gsn`: snapshots
  /// older than it keep these pages. The smallest GSN if there is none.
  [[nodiscard]] Gsn newest_commit(Gsn gsn = kNone) const;
  [[nodiscard]] bool empty() const noexcept { return count_.load() == 0; }

 private:
  struct Pending {
    Gsn commit{};
    Gsn oldest{};
    std::vector<btree::LargeValueDescriptor> values;
  };

  void append(std::span<const buffer::PageRun> runs) noexcept;

  wal::TransactionLog& log_;
  buffer::SpaceMap& space_;
  std::mutex appending_;  ///< protects log_; held while waiting for rounds
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;  ///< protected by mutex_
  std::size_t announced_ = 0;     ///< prepared and not added yet; protected by mutex_
  std::atomic<std::size_t> count_{0};
};

}  // namespace palimpsest::txn
