// Whether what a serializable transaction has read is still so when it commits: precision locking.
//
// Its commit counts at its date d, so what it has read must be at d what it was in its snapshot s:
// no transaction with a date in (s, d), of whatever level but `none`, has changed a record that it
// has read, or one that it would have read. That is asked of the versions that those have left, in
// the buffers of all slots, twice:
//
//   (V1) c = clock   (V2) each slot: nothing of (s, c]
//   (V3) announced   (V4) d = an addition to the clock   (V5) dated(d)
//   (V6) each slot: nothing of (c, d]                      (V7) the snapshot was not cancelled
//   the commit record; committed
//
// A slot whose transaction is announced, or dated up to the bound without having left dated
// versions, is waited for, and then its buffer is looked at.
//
// Argument that none is missed, for another transaction of date t in (s, d), in V6 (V2 likewise,
// with c for d). Its announcement comes before the addition that drew t, and that before the one
// that drew d: so V6 finds it announced or later, or finds the slot's word already the next
// transaction's. It waits until its versions bear their date, unless they do already. They stay as
// long as the snapshot s is in use (I-8), but for those that were merged into one of an older date,
// which lies above s, for s is in use (versioning/prune.h): that one was looked at in V2 if its
// date is at or below c, and is in V6 if not. A record that was made since s and removed keeps
// its version as long as s is in use, for s is one of those that may write. If the snapshot was
// cancelled, V7 finds it: who collects has stored that before he took the latch of a buffer, which
// V6 took after him.
// Argument that no two miss each other: if both are serializable, the one with the larger date
// finds the other in V6, and waits for its decision. Each waits for smaller dates only, and nobody
// who is announced waits before he is dated: no cycle. Those who wait for this one meanwhile, to
// see what it has changed, hold the latch of a leaf at most (btree/visible_record.cc): whoever is
// dated takes none, nor does he wait for one who wants it, for who has a buffer's latch only tries
// those of leaves (versioning/unchanged_page.h), and those of chains are given back before anybody
// waits.
//
// Bulks leave no versions, and definitions are no records: one that has committed since s, of
// whatever table, is in the way, until everybody finds what it has defined. So a transaction that
// has read no record is asked, too. One at `none` leaves no versions either, and is not met.
// Latching: those of versions' buffers, one at a time. Thread-safety: belongs to its transaction.
// Source: HyPer-MVCC 2.3; rows are told apart, not their columns.
#pragma once

#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "base/ids.h"
#include "versioning/read_set.h"

namespace palimpsest::txn {

class Transactions;

/// A record that the transaction has read was changed meanwhile; it was rolled back.
class NotSerializable : public Error {
 public:
  NotSerializable(TreeId tree, std::string key);
  /// Of the record.
  [[nodiscard]] TreeId tree() const noexcept { return tree_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  TreeId tree_;
  std::string key_;
};

class Validation {
 public:
  /// Of the transactions of a slot.
  Validation(Transactions& all, SlotId slot) noexcept : all_(all), slot_(slot) {}

  /// `registers`: whether it will be asked. Throws std::bad_alloc.
  void begin(bool registers);
  /// What it has read so far; null if nobody will ask.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept {
    return registers_ ? reads_.get() : nullptr;
  }
  [[nodiscard]] bool is_needed() const noexcept { return registers_; }

  /// The transaction has ended: what it has read is given back.
  void end() noexcept {
    if (registers_) [[unlikely]] {
      reads_->end();
    }
    registers_ = false;
  }

  /// V1 and V2, of a transaction with this snapshot: whether nothing is in the way.
  [[nodiscard]] bool check_until_now(Gsn snapshot) noexcept;
  /// V6: the same.
  [[nodiscard]] bool check_until(Gsn date) noexcept;
  /// What was in the way of the last check: throws NotSerializable; Error not_serializable for a
  /// bulk.
  [[noreturn]] void refuse() const;

 private:
  [[nodiscard]] bool is_unchanged(Gsn after, Gsn upto) noexcept;

  Transactions& all_;
  const SlotId slot_;
  std::unique_ptr<versioning::ReadSet> reads_;  ///< from the first serializable transaction on
  bool registers_ = false;
  Gsn snapshot_{};
  Gsn checked_{};  ///< c
  // What was in the way; of a bulk, no tree:
  TreeId tree_ = kNoTree;
  std::string key_;
};

}  // namespace palimpsest::txn
