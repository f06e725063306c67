// What one transaction writes into its slot's log: its changes linked backwards, the compensation
// it may owe, and its end.
//
// Every record's GSN is above the clock as read here, under the latches of the pages that change.
// So a record's GSN is above the timestamp of every commit that its change may rely on: whose
// records it overwrites, whose bytes or pages it reuses, whose ghosts it purges. The claim of such
// a record was seen to be gone, so its owner had drawn his timestamp from the clock before, or has
// undone what he did to it, by a record with a smaller GSN that the page bears. Then a
// cut that keeps this record keeps that commit (I-3, I-4), and no transaction that loses has been
// overwritten by a record that counts. (One read of a shared word per change; what it costs with
// many cores, and what would spare it: docs/decisions/005.)
//
// Invariants: (1) log space is held for the compensation of every change, and for the record that
//                 ends the rollback: rolling back never waits for space, whatever others do;
//             (2) a change's `back` leads to the transaction's change before.
// Thread-safety: belongs to one thread at a time, the owner of its slot; but for cancel().
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

/// What an operation is about to append, at most: bodies.
struct OperationNeed {
  std::size_t change_bytes = 0;  ///< of one change; 0 if there is none
  std::size_t changes = 1;       ///< how many of that length
  std::size_t system_bytes = 0;  ///< of one system record; 0 if there is none
  std::size_t later_bytes = 0;   ///< of records that will follow from it: see hand_over()
};

/// Of the record of a change that is undone.
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
  /// Credit goes back. Changes that were neither committed nor rolled back are recovery's.
  ~TransactionLog() { log_.release_credit(slot_); }

  [[nodiscard]] Log& log() const noexcept { return log_; }
  [[nodiscard]] SlotId slot() const noexcept { return slot_; }
  /// Whether it has changed something that would have to be undone.
  [[nodiscard]] bool has_changes() const noexcept { return last_ != kNoLsn; }
  /// Of log: what the compensation of its changes may take, and records that were handed over.
  [[nodiscard]] std::size_t owed_bytes() const noexcept { return owed_bytes_; }
  /// Meaningful once it has changes.
  [[nodiscard]] TransactionName name() const noexcept {
    return {.incarnation = log_.incarnation(), .first = first_, .slot = slot_};
  }

  /// Makes sure of an operation's records and of what undoing them takes. No latch is held. Waits
  /// for space. Throws as Log::try_reserve(), and once it has been cancelled transaction_too_old:
  /// it must be rolled back; or no_space, as require_space_if_repeated().
  void reserve(const OperationNeed& need) {
    if (is_cancelled() || !log_.has_at_hand(slot_, need_of(need))) [[unlikely]] {
      wait_for(need);
    }
  }
  /// Whether these records, after those that were reserved and appended, need nothing to be waited
  /// for.
  [[nodiscard]] bool has_at_hand(const OperationNeed& need) const noexcept {
    return log_.has_at_hand(slot_, need_of(need));
  }
  /// The same, but false where it would wait for space.
  [[nodiscard]] bool try_reserve(const OperationNeed& need, FunctionRef<bool()> give_up) {
    return log_.try_reserve(slot_, need_of(need), give_up);
  }

  /// Space that was reserved as `later_bytes` is `to`'s from now on, which the caller owns too and
  /// which has reserved something before.
  void hand_over(TransactionLog& to, std::size_t bytes) noexcept {
    log_.move_credit(slot_, to.slot_, bytes);
    to.owed_bytes_ += bytes;
  }
  /// Makes sure of a system record whose space was handed over: waits for rounds only. It was
  /// handed_over_bytes() of them.
  void reserve_handed_over(std::size_t body_bytes);
  [[nodiscard]] static constexpr std::size_t handed_over_bytes(std::size_t body_bytes) noexcept {
    return record_bytes_max(RecordRole::system, body_bytes);
  }
  /// After such records: what they took less than that goes back.
  void release_unused() noexcept { log_.release_credit(slot_, owed_bytes_); }
  void forget_handed_over(std::size_t bytes) noexcept;  ///< so many are not needed
  /// Makes sure of a system record where nobody makes space yet: takes it from others if it must.
  void reserve_first(std::size_t body_bytes);

  /// Raises the clock: what begins or commits from now on comes after this record of its own, also
  /// where no page says so.
  void cover(Gsn gsn) noexcept { clock_.raise(gsn); }

  /// It begins: nothing of it is in the log.
  void begin() noexcept {
    first_ = kNoLsn;
    has_appended_ = false;
  }
  /// Whether it has appended anything since, also what nobody would have to undo.
  [[nodiscard]] bool has_appended() const noexcept { return has_appended_; }
  /// Before its first change: no record of it will have a GSN up to `oldest`.
  void begin_changes(Gsn oldest) noexcept { oldest_ = oldest; }
  /// Asks the transaction to end if it is one that may have records up to `newest`, because they
  /// hold the log back. From any thread.
  void cancel(Gsn newest) noexcept { cancelled_up_to_.store(newest, std::memory_order_relaxed); }
  [[nodiscard]] Gsn cancelled_up_to() const noexcept {
    return cancelled_up_to_.load(std::memory_order_relaxed);
  }
  /// Whether that has been asked of it, or of the transaction that it works for.
  [[nodiscard]] bool is_cancelled() const noexcept {
    return oldest_ <= cancelled_up_to() || (works_for_ != nullptr && works_for_->is_cancelled());
  }
  /// It has to end for that, or had to: throws no_space if another attempt would have to again,
  /// because the disk is too full for what it has appended and that many bytes.
  void require_space_if_repeated(std::size_t more_bytes = 0) const;
  /// The caller waits for this transaction inside a call of another one, which holds the log back
  /// meanwhile and cannot end: this one gives up for it. Null: it works for itself.
  void work_for(const TransactionLog* other) noexcept { works_for_ = other; }

  /// Appends a redo-only record; `at_least`: the highest GSN of the pages it changes. encode as in
  /// Log::append(). Returns its GSN.
  template <class Encode>
  Gsn append_system(Gsn at_least, BodyKind kind, std::size_t body_bytes, Encode&& encode) noexcept {
    has_appended_ = true;
    return log_
        .append(slot_, above(at_least), record_type(RecordRole::system, kind), body_bytes, encode)
        .gsn;
  }

  /// Appends a change of the transaction.
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

  /// Makes sure of the record that ends it, commit or rolled_back. Waits for rounds only, never for
  /// space. Throws failed.
  void reserve_end();
  /// Ends it as committed, and returns its timestamp. It has changes. drawn(timestamp) as in
  /// Log::append_commit().
  Gsn append_commit(FunctionRef<void(Gsn timestamp)> drawn) noexcept;
  Gsn append_commit() noexcept {
    return append_commit([](Gsn) {});
  }

  // Rolling back: for each change from next_to_undo() on, reserve_compensation(), then
  // append_compensation(); at last reserve_end(), append_rolled_back().

  /// The change to be undone next; kNoLsn if none is left.
  [[nodiscard]] Lsn next_to_undo() const noexcept { return last_; }
  /// Makes sure of one compensation, of a change with this body, as reserve_end() does.
  void reserve_compensation(std::size_t change_body_bytes);
  /// Returns the record's GSN.
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
  /// Of some of its changes, or all: it may go on with others.
  void end_undo() noexcept { goes_first_ = false; }
  /// Its changes are undone.
  void append_rolled_back() noexcept;
  /// The same where the log has failed: recovery will undo them again.
  void abandon() noexcept { forget(); }

  // For recovery, which undoes what others left behind; nothing is owed then.

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
  Lsn first_{kNoLsn};           ///< stays when it has ended
  Lsn last_{kNoLsn};            ///< newest change that is not undone
  std::size_t owed_bytes_ = 0;  ///< compensation of the changes so far
  bool goes_first_ = false;
  bool has_appended_ = false;
  Gsn oldest_{std::numeric_limits<std::uint64_t>::max()};
  const TransactionLog* works_for_ = nullptr;
  std::atomic<Gsn> cancelled_up_to_{Gsn{0}};
};

}  // namespace palimpsest::wal
