// What a transaction sees: its isolation level, and the snapshot that it has.
//
// Life: begin -> under `snapshot` and `serializable`, one snapshot until end(); under
//       read_committed, one a call (TransactionSnapshot::Call), and between calls none, so that
//       nothing is kept for it.
// A snapshot may be cancelled by others at any time (versioning/snapshots.h): require() is asked
// after chains were looked at, before anybody sees what came of it, and before a commit.
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
  /// Of a slot's transactions. Both outlive it.
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
  /// Whose view reads have; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept {
    return isolation_ == Isolation::none ? nullptr : &read_view_;
  }
  /// Of one that has one from its beginning to its end.
  [[nodiscard]] Gsn snapshot() const noexcept { return read_view_.snapshot; }
  /// The same for what is seen as one's own.
  void see_as(const TransactionSnapshot& other) noexcept {
    read_view_.mine = other.read_view_.mine;
  }
  /// Whether what is seen was given up.
  [[nodiscard]] bool is_cancelled() const noexcept {
    return isolation_ != Isolation::none && snapshots_.is_cancelled(slot_, read_view_.snapshot);
  }
  /// Throws snapshot_too_old if it was.
  void require() const {
    if (is_cancelled()) [[unlikely]] {
      refuse();
    }
  }
  [[noreturn]] static void refuse();

  /// A call that reads.
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
