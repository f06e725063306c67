// Checks at commit that what a serializable transaction has read is unchanged: precision locking.
//
// The commit counts at its date d, so what the transaction has read must be at d what it was in its
// snapshot s: no transaction with a date in (s, d), of any level but `none`, has changed a record
// that this one has read, or would have read. The check searches the versions of those
// transactions, in the buffers of all slots, twice:
//
//   (V1) c = clock   (V2) each slot: nothing in (s, c]
//   (V3) announced   (V4) d = an addition to the clock   (V5) dated(d)
//   (V6) each slot: nothing in (c, d]                      (V7) the snapshot was not cancelled
//   the commit record; committed
//
// If a slot's transaction is announced, or dated up to the bound without having left dated
// versions, the check waits for it, and then searches its buffer.
//
// Argument that V6 misses no other transaction T with date t in (s, d) (V2 likewise, with c for d):
// - T's announcement precedes the addition that drew t, which precedes the one that drew d. So V6
//   finds T announced or later, or finds the slot's word already reused by the next transaction.
// - V6 waits until T's versions bear their date, unless they do already.
// - Those versions stay as long as the snapshot s is in use (I-8), except those merged into a
//   version of an older date. That date lies above s, as s is in use (versioning/prune.h): the
//   merged version was checked in V2 if its date is at or below c, and is checked in V6 otherwise.
//   A record that was made since s and removed keeps its version as long as s is in use, because s
//   belongs to a transaction that may write.
// - If the snapshot was cancelled, V7 finds it: the collector stores the cancellation before it
//   takes a buffer's latch, which V6 takes afterwards.
//
// Argument that no two miss each other: if both are serializable, the one with the larger date
// finds the other in V6, and waits for its decision.
//
// Argument that there is no deadlock: each waits for smaller dates only, and no announced
// transaction waits before it is dated. Readers that meanwhile wait for this transaction, to see
// what it has changed, hold at most the latch of a leaf (btree/visible_record.cc). A dated
// transaction takes none of these latches. Nor does it wait for a thread that wants one: the holder
// of a buffer's latch only tries leaf latches (versioning/unchanged_page.h), and latches of chains
// are released before any wait.
//
// Bulks leave no versions, and definitions are no records: the check fails if a bulk or definer, on
// any table, has committed since s, or had not published its definitions by s. So a transaction
// that has read no record is checked, too. A transaction at `none` leaves no versions either, and
// is not detected.
// Latching: those of version buffers, one at a time. Thread-safety: belongs to its transaction.
// Source: HyPer-MVCC 2.3; it distinguishes rows, not their columns.
#pragma once

#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "base/ids.h"
#include "versioning/read_set.h"

namespace palimpsest::txn {

class Transactions;

/// A record that the transaction has read was changed meanwhile; the transaction was rolled back.
class NotSerializable : public Error {
 public:
  NotSerializable(TreeId tree, std::string key);
  /// Of the changed record.
  [[nodiscard]] TreeId tree() const noexcept { return tree_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  TreeId tree_;
  std::string key_;
};

class Validation {
 public:
  /// For the transactions of a slot.
  Validation(Transactions& all, SlotId slot) noexcept : all_(all), slot_(slot) {}

  /// `registers`: whether the transaction will be validated. Throws std::bad_alloc.
  void begin(bool registers);
  /// What it has read so far; null if it will not be validated.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept {
    return registers_ ? reads_.get() : nullptr;
  }
  [[nodiscard]] bool is_needed() const noexcept { return registers_; }

  /// The transaction has ended: releases its read set.
  void end() noexcept {
    if (registers_) [[unlikely]] {
      reads_->end();
    }
    registers_ = false;
  }

  /// V1 and V2, for a transaction with this snapshot: whether no conflict was found.
  [[nodiscard]] bool check_until_now(Gsn snapshot) noexcept;
  /// V6: whether no conflict was found.
  [[nodiscard]] bool check_until(Gsn date) noexcept;
  /// Reports the conflict of the last check: throws NotSerializable; for a bulk, Error
  /// not_serializable.
  [[noreturn]] void refuse() const;

 private:
  [[nodiscard]] bool is_unchanged(Gsn after, Gsn upto) noexcept;

  Transactions& all_;
  const SlotId slot_;
  std::unique_ptr<versioning::ReadSet> reads_;  ///< made by the first serializable transaction
  bool registers_ = false;
  Gsn snapshot_{};
  Gsn checked_{};  ///< c
  // The conflict found; kNoTree for a bulk.
  TreeId tree_ = kNoTree;
  std::string key_;
};

}  // namespace palimpsest::txn
