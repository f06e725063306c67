// Pages that committed transactions have given up: free once the commit is durable, and no snapshot
// is older.
//
// The pages of a large value that was replaced or removed are not free with that change, which may
// yet be undone, but when its transaction has committed and that is durable. Until then the change
// stays in the replayed part of the log: who moves replay's start asks oldest(). Freeing is a log
// record of its own; recovery frees what it finds given up by winners and not freed.
//
// Latching: one mutex over the list, taken by transactions that gave up large values only, and held
//           neither across I/O nor while anything waits; a second one over the slot that the
//           records are written through, taken before it.
// Thread-safety: all functions, from any thread.
// Invariant: log space for freeing what is pending is held, so that a full log does not keep what
//            holds its start back; and no more, or each value would take some for good.
// Failure: run_due() throws failed; what is not freed then is freed later.
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

  /// `log` writes through a slot that belongs to this alone. Both outlive it. Throws as
  /// Log::reserve().
  DeferredFrees(wal::TransactionLog& log, buffer::SpaceMap& space);
  DeferredFrees(const DeferredFrees&) = delete;
  DeferredFrees& operator=(const DeferredFrees&) = delete;

  /// To be called before a transaction commits that gives something up: makes room in memory and
  /// log, so that nothing fails afterwards. Throws std::bad_alloc, and as
  /// TransactionLog::reserve().
  void prepare(wal::TransactionLog& log, std::span<const btree::LargeValueDescriptor> values);
  /// The transaction has committed at `commit`; the records of its changes are above `oldest`.
  /// Takes the values.
  void add(Gsn commit, Gsn oldest, std::vector<btree::LargeValueDescriptor>& values) noexcept;
  /// Instead, if it has not committed after all, with the same values.
  void forget_prepared(std::span<const btree::LargeValueDescriptor> values) noexcept;

  /// Frees what durable commits up to the horizon gave up: no snapshot has it. Whether there was
  /// any. Called with no latch held; waits for rounds, not for space.
  bool run_due(Gsn horizon);
  /// Frees these pages at once: what recovery found, before there are checkpoints.
  void free_now(std::span<const buffer::PageRun> runs);

  /// No record of what is pending has a GSN up to this; kNone if nothing is pending.
  [[nodiscard]] Gsn oldest() const;
  /// The newest commit of those whose records may have a GSN up to this: older snapshots keep them.
  /// The smallest GSN if there is none.
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
  std::mutex appending_;  ///< over log_; held while rounds are waited for
  mutable std::mutex mutex_;
  std::vector<Pending> pending_;  ///< protected by mutex_
  std::size_t announced_ = 0;     ///< prepared and not added yet; protected by mutex_
  std::atomic<std::size_t> count_{0};
};

}  // namespace palimpsest::txn
