// What one transaction writes into its slot's log: its changes, linked backwards, their
// compensation, and its end.
//
// Every record's GSN is above the clock as read here, under the latches of the pages that change.
// So a record's GSN is above the timestamp of every commit on which its change may rely: one whose
// records it overwrites, whose bytes or pages it reuses, or whose ghosts it purges. The claim on
// such a record was seen to be gone. So its owner had drawn its timestamp from the clock before, or
// had undone its change by a record with a smaller GSN, which the page bears. Then a cut that keeps
// this record keeps that commit (I-3, I-4), and no record that counts has overwritten a transaction
// that loses. (One read of a shared word per change; for its cost with many cores, and how to avoid
// it, see docs/decisions/005.)
//
// Invariants: (1) log space is held for the compensation of every change, and for the record that
//                 ends the rollback: rolling back never waits for space, whatever other threads do;
//             (2) a change's `back` leads to the transaction's previous change.
// Thread-safety: belongs to one thread at a time, the owner of its slot; except cancel().
// Failure: appending never fails; reserving throws what Log::try_reserve() throws.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "palimpsest/function_ref.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "wal/log.h"
#include "wal/transaction_record.h"

namespace palimpsest::wal {

/// Upper bounds of the bodies that an operation is about to append.
struct OperationNeed {
  std::size_t change_bytes = 0;  ///< of one change; 0 if there is none
  std::size_t changes = 1;       ///< how many of that length
  std::size_t system_bytes = 0;  ///< of one system record; 0 if there is none
  std::size_t later_bytes = 0;   ///< for records that will follow from it: see hand_over()
};

/// The log record of a change that is undone.
struct UndoneChange {
  std::uint32_t back = 0;
  std::size_t body_bytes = 0;
};

class TransactionLog {
 public:
  /// The slot is claimed, and merged with the clock. All references outlive it.
  TransactionLog(Log& log, Clock& clock, SlotId slot) noexcept
      : log_(log), clock_(clock), slot_(slot) {}
  TransactionLog(const TransactionLog&) = delete;
  TransactionLog& operator=(const TransactionLog&) = delete;
  /// Returns credit. Changes neither committed nor rolled back are left to recovery.
  ~TransactionLog() { log_.release_credit(slot_); }

  [[nodiscard]] Log& log() const noexcept { return log_; }
  [[nodiscard]] SlotId slot() const noexcept { return slot_; }
  /// Whether it has changes that would have to be undone.
  [[nodiscard]] bool has_changes() const noexcept { return last_ != kNoLsn; }
  /// Log space owed: for the compensation of its changes, and for records handed over to it.
  [[nodiscard]] std::size_t owed_bytes() const noexcept { return owed_bytes_; }
  /// Meaningful once it has changes.
  [[nodiscard]] TransactionName name() const noexcept {
    return {.incarnation = log_.incarnation(), .first = first_, .slot = slot_};
  }

  /// Reserves an operation's records and the space to undo them. No latch is held. Waits for space.
  /// Throws as Log::try_reserve(); once cancelled, transaction_too_old (it must be rolled back), or
  /// no_space as require_space_if_repeated().
  void reserve(const OperationNeed& need) {
    if (is_cancelled() || !log_.has_at_hand(slot_, need_of(need))) [[unlikely]] {
      wait_for(need);
    }
  }
  /// Whether these records, after those reserved and appended, need no waiting.
  [[nodiscard]] bool has_at_hand(const OperationNeed& need) const noexcept {
    return log_.has_at_hand(slot_, need_of(need));
  }
  /// As reserve(), but returns false if give_up() returns true while it waits for space.
  [[nodiscard]] bool try_reserve(const OperationNeed& need, FunctionRef<bool()> give_up) {
    return log_.try_reserve(slot_, need_of(need), give_up);
  }

  /// Gives space that was reserved as `later_bytes` to `to`, which the caller owns too and which
  /// has reserved something before.
  void hand_over(TransactionLog& to, std::size_t bytes) noexcept {
    log_.move_credit(slot_, to.slot_, bytes);
    to.owed_bytes_ += bytes;
  }
  /// Reserves a system record out of space that was handed over, handed_over_bytes() of it; waits
  /// for rounds only.
  void reserve_handed_over(std::size_t body_bytes);
  [[nodiscard]] static constexpr std::size_t handed_over_bytes(std::size_t body_bytes) noexcept {
    return record_bytes_max(RecordRole::system, body_bytes);
  }
  /// After such records: returns the space that they did not need.
  void release_unused() noexcept { log_.release_credit(slot_, owed_bytes_); }
  void forget_handed_over(std::size_t bytes) noexcept;  ///< they are not needed
  /// Reserves a system record at a time when no thread makes space yet: overdraws if it must.
  void reserve_first(std::size_t body_bytes);

  /// Raises the clock: what begins or commits from now on comes after this record of the
  /// transaction, even where no page shows it.
  void cover(Gsn gsn) noexcept { clock_.raise(gsn); }

  /// A transaction begins: nothing of it is in the log.
  void begin() noexcept {
    first_ = kNoLsn;
    has_appended_ = false;
  }
  /// Whether it has appended anything since begin(), including records that are never undone.
  [[nodiscard]] bool has_appended() const noexcept { return has_appended_; }
  /// Before its first change: states that none of its records will have a GSN up to `oldest`.
  void begin_changes(Gsn oldest) noexcept { oldest_ = oldest; }
  /// Asks the transaction to end if it may have records with a GSN up to `newest`, because they
  /// hold the log back. From any thread.
  void cancel(Gsn newest) noexcept { cancelled_up_to_.store(newest, std::memory_order_relaxed); }
  [[nodiscard]] Gsn cancelled_up_to() const noexcept {
    return cancelled_up_to_.load(std::memory_order_relaxed);
  }
  /// Whether it, or the transaction it works for, was asked to end.
  [[nodiscard]] bool is_cancelled() const noexcept {
    return oldest_ <= cancelled_up_to() || (works_for_ != nullptr && works_for_->is_cancelled());
  }
  /// For a transaction that must end, or had to, because it was cancelled: throws no_space if a
  /// retry would end the same way, because the disk is too full for what it appended and
  /// `more_bytes`.
  void require_space_if_repeated(std::size_t more_bytes = 0) const;
  /// Says that it works within a call of `other`, which cannot end meanwhile: if `other` holds the
  /// log back, this transaction gives up for it. Null: it works for itself.
  void work_for(const TransactionLog* other) noexcept { works_for_ = other; }

  /// Appends a redo-only record; `at_least` is the highest GSN of the pages it changes. encode as
  /// in Log::append(). Returns its GSN.
  template <class Encode>
  Gsn append_system(Gsn at_least, BodyKind kind, std::size_t body_bytes, Encode&& encode) noexcept {
    has_appended_ = true;
    return log_
        .append(slot_, above(at_least), record_type(RecordRole::system, kind), body_bytes, encode)
        .gsn;
  }

  /// Appends a change of the transaction; otherwise as append_system().
  template <class Encode>
  Gsn append_change(Gsn at_least, BodyKind kind, std::size_t body_bytes, Encode&& encode) noexcept {
    const Lsn lsn = log_.slot_log(slot_).end();
    const std::uint64_t back = last_ == kNoLsn ? 0 : raw(lsn) - raw(last_);
    const std::size_t prefix_bytes = varint_bytes(back);
    const Appended appended =
        log_.append(slot_, above(at_least), record_type(RecordRole::change, kind),
                    prefix_bytes + body_bytes, [&](MutableBytes into) {
                      static_cast<void>(put_varint(into.data(), back));
                      encode(into.subspan(prefix_bytes));
                    });
    first_ = last_ == kNoLsn ? lsn : first_;
    last_ = lsn;
    has_appended_ = true;
    owed_bytes_ += compensation_bytes_max(body_bytes);
    return appended.gsn;
  }

  /// Reserves the record that ends it, commit or rolled_back. Waits for rounds only, never for
  /// space. Throws failed.
  void reserve_end();
  /// Commits it and returns its timestamp. It has changes. drawn(timestamp) as in
  /// Log::append_commit().
  Gsn append_commit(FunctionRef<void(Gsn timestamp)> drawn) noexcept;
  Gsn append_commit() noexcept {
    return append_commit([](Gsn) {});
  }

  // Rolling back: for each change from next_to_undo() on, reserve_compensation(), then
  // append_compensation(); finally reserve_end(), append_rolled_back().

  /// The change to be undone next; kNoLsn if none is left.
  [[nodiscard]] Lsn next_to_undo() const noexcept { return last_; }
  /// Reserves one compensation, for a change with a body of that size; otherwise as reserve_end().
  void reserve_compensation(std::size_t change_body_bytes);
  /// Appends a compensation and returns its GSN.
  template <class Encode>
  Gsn append_compensation(Gsn at_least, const UndoneChange& undone, BodyKind kind,
                          std::size_t body_bytes, Encode&& encode) noexcept {
    const Lsn next = undone.back == 0 ? kNoLsn : Lsn{raw(last_) - undone.back};
    const CompensationPrefix prefix{.of = name(), .undo_next = next};
    const Gsn gsn = append_compensation_as(at_least, prefix, kind, body_bytes, encode);
    last_ = next;
    owed_bytes_ -= std::min(owed_bytes_, compensation_bytes_max(undone.body_bytes));
    return gsn;
  }
  /// Ends an undo of some or all of its changes; it may continue with other changes.
  void end_undo() noexcept { goes_first_ = false; }
  /// Ends it; its changes are undone.
  void append_rolled_back() noexcept;
  /// Ends it when the log has failed: recovery will undo its changes again.
  void abandon() noexcept { forget(); }

  // For recovery, which undoes transactions that a crash left open; no space is owed then.

  template <class Encode>
  Gsn append_compensation_as(Gsn at_least, const CompensationPrefix& prefix, BodyKind kind,
                             std::size_t body_bytes, Encode&& encode) noexcept {
    return log_
        .append(slot_, above(at_least), record_type(RecordRole::compensation, kind),
                sizeof prefix + body_bytes,
                [&](MutableBytes into) {
                  std::memcpy(into.data(), &prefix, sizeof prefix);
                  encode(into.subspan(sizeof prefix));
                })
        .gsn;
  }
  void append_rolled_back_as(const TransactionName& name) noexcept;

 private:
  [[nodiscard]] std::uint64_t appended_bytes() const;
  [[nodiscard]] LogNeed need_of(const OperationNeed& need) const noexcept {
    std::size_t bytes = 0;
    std::size_t owed = owed_bytes_ + record_bytes_max(RecordRole::rolled_back, 0);
    if (need.change_bytes != 0) {
      bytes += need.changes * record_bytes_max(RecordRole::change, need.change_bytes);
      owed += need.changes * compensation_bytes_max(need.change_bytes);
    }
    if (need.system_bytes != 0) {
      bytes += record_bytes_max(RecordRole::system, need.system_bytes);
    }
    return {
        .bytes = bytes, .credit_bytes = bytes + owed + need.later_bytes, .goes_first = goes_first_};
  }
  void wait_for(const OperationNeed& need);
  [[nodiscard]] Gsn above(Gsn at_least) const noexcept { return std::max(at_least, clock_.now()); }
  void forget() noexcept;

  Log& log_;
  Clock& clock_;
  const SlotId slot_;
  Lsn first_{kNoLsn};           ///< kept after its end
  Lsn last_{kNoLsn};            ///< newest change that is not undone
  std::size_t owed_bytes_ = 0;  ///< for compensation, and for records handed over
  bool goes_first_ = false;
  bool has_appended_ = false;
  Gsn oldest_{std::numeric_limits<std::uint64_t>::max()};
  const TransactionLog* works_for_ = nullptr;
  std::atomic<Gsn> cancelled_up_to_{Gsn{0}};
};

}  // namespace palimpsest::wal
