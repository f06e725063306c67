// What a transaction sees: its isolation level and its snapshot.
//
// Life: under `snapshot` and `serializable`, one snapshot from begin() to end(). Under
// read_committed, one per call (TransactionSnapshot::Call) and none between calls, so that nothing
// is retained for it.
// Other threads may cancel a snapshot at any time (versioning/snapshots.h): require() is called
// after chains were read and before the result leaves the transaction, and before a commit.
// Thread-safety: belongs to its transaction; require() throws snapshot_too_old.
#pragma once

#include "base/ids.h"
#include "base/worker_slots.h"
#include "txn/isolation.h"
#include "versioning/chain.h"
#include "versioning/snapshots.h"

namespace palimpsest::txn {

class TransactionSnapshot {
 public:
  /// For the transactions of a slot. The references outlive this.
  TransactionSnapshot(versioning::Snapshots& snapshots, WorkerSlots& slots, SlotId slot) noexcept
      : snapshots_(snapshots), slots_(slots), slot_(slot) {}

  /// `mine`: the commit status of the transaction's own changes, or null if it has none to see.
  void begin(Isolation isolation, SnapshotUse use, const versioning::CommitStatus* mine) noexcept;
  void end() noexcept {
    if (isolation_ != Isolation::none) {
      snapshots_.drop(slot_);
    }
  }

  [[nodiscard]] Isolation isolation() const noexcept { return isolation_; }
  /// The view that reads use; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept {
    return isolation_ == Isolation::none ? nullptr : &read_view_;
  }
  /// Valid for a transaction that has one snapshot from its beginning to its end.
  [[nodiscard]] Gsn snapshot() const noexcept { return read_view_.snapshot; }
  /// Sees as its own the changes that `other` sees as its own.
  void see_as(const TransactionSnapshot& other) noexcept {
    read_view_.mine = other.read_view_.mine;
  }
  /// Whether the snapshot was cancelled.
  [[nodiscard]] bool is_cancelled() const noexcept {
    return isolation_ != Isolation::none && snapshots_.is_cancelled(slot_, read_view_.snapshot);
  }
  /// Throws snapshot_too_old if the snapshot was cancelled.
  void require() const {
    if (is_cancelled()) [[unlikely]] {
      refuse();
    }
  }
  [[noreturn]] static void refuse();

  /// Scope of a call that reads.
  class Call {
   public:
    explicit Call(TransactionSnapshot& view) noexcept : of_(view) {
      if (of_.isolation_ == Isolation::read_committed) {
        of_.take(SnapshotUse::reads);
      }
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (of_.isolation_ == Isolation::read_committed) {
        of_.drop();
      }
    }

   private:
    TransactionSnapshot& of_;
  };

 private:
  void take(SnapshotUse use) noexcept;
  void drop() noexcept;

  versioning::Snapshots& snapshots_;
  WorkerSlots& slots_;
  const SlotId slot_;
  Isolation isolation_ = Isolation::none;
  versioning::ReadView read_view_;
};

}  // namespace palimpsest::txn
