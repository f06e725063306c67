// A transaction: changes of trees that take effect together or not at all.
//
// Isolation: at every level, a record changed by an open transaction cannot be written by another
// one: a conflict, returned as a value. Under `snapshot` and `serializable`, neither can a record
// that was changed and committed since the transaction began. All levels but `none` keep versions;
// every reader sees changes made at `none` at once.
//
// Life: begin -> changes -> commit or rollback; dropping the handle rolls back. The engine may roll
// back a transaction that pins the log: later calls throw transaction_too_old or no_space
// (wal/log_space.h).
// Commit makes pages of large values durable; appends the commit record, with the timestamp, or a
// larger one (`serializable`), as its GSN; releases the records, which other transactions may then
// change (with larger timestamps, and durable no earlier: I-3); if synchronous, waits until g
// covers the record. If a synchronous one only read, what it saw is durable when commit() returns.
// Latching: a short owner latch, held across each call: calls from several threads run one after
// another, and the engine acts between two of them. Taken before all other latches.
// Thread-safety: all functions, from any thread.
// Failure: Error as the tree's functions, failed, transaction_too_old, snapshot_too_old (then it
// can only be rolled back). After any other error, except commit()'s, it may go on or roll back.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>

#include "palimpsest/error.h"

#include "base/ids.h"
#include "base/turn_latch.h"
#include "btree/btree.h"
#include "btree/ghost_run.h"
#include "btree/leaf_memory.h"
#include "btree/write_context.h"
#include "txn/commit_decision.h"
#include "txn/contacts.h"
#include "txn/isolation.h"
#include "txn/savepoint.h"
#include "txn/transaction_ptr.h"
#include "txn/transaction_snapshot.h"
#include "txn/tree_calls.h"
#include "txn/validation.h"
#include "versioning/prune.h"
#include "versioning/version_buffer.h"
#include "versioning/writer.h"
#include "wal/transaction_log.h"

namespace palimpsest::txn {

class Transaction : public TreeCalls<Transaction>, public Contacts {
 public:
  /// Called by Transactions, once a slot; the object is reused.
  Transaction(Transactions& owner, SlotId slot);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Runs a change of trees: call(const WriteContext&).
  template <class Call>
  auto write(Call&& call) {
    const auto turn = take_turn();
    begin_write();
    has_read_ = true;  // it has observed that a key is present or absent
    try {
      return confirmed([&] { return call(context_); });
    } catch (const Error& error) {
      roll_back_if_too_old(error);
      throw;
    }
  }

  /// Runs several changes that take effect together: call(const WriteContext&) returns a value with
  /// is_done(). If that is false, or if the call throws, undoes the changes of this call (throwing
  /// as rollback()) and releases the records it claimed; the transaction may go on.
  template <class Call>
  auto statement(Call&& call) {
    const auto turn = take_turn();
    begin_write();
    has_read_ = true;
    const Savepoint before = savepoint();
    try {
      auto result = confirmed([&] { return call(context_); });
      if (!result.is_done()) {
        undo_to(before);
      }
      return result;
    } catch (const Error& error) {
      roll_back_if_too_old(error);
      undo_to(before);
      throw;
    } catch (...) {
      undo_to(before);
      throw;
    }
  }
  /// Runs a call in which other transactions work for this one, and which reads nothing by
  /// read_view().
  template <class Call>
  auto hold(Call&& call) {
    const auto turn = take_turn();
    require_active();
    require_view();
    return call();
  }
  /// Called first, before the handle is shared: from then on the owner latch, free but for the
  /// engine's short looks, is only tried, and may be taken under other latches.
  void work_alone() noexcept { alone_.store(true, std::memory_order_relaxed); }
  /// As work_alone(), begun from within a call of `other`. If the engine asks `other` to end, this
  /// transaction's calls throw transaction_too_old.
  void work_for(const Transaction& other) noexcept {
    work_alone();
    log_.work_for(&other.log_);
  }
  /// Called first, under `none`: no other transaction writes there meanwhile. Not null: as this
  /// bulk.
  void write_alone(const versioning::ReadView* bulk) noexcept;
  /// Within a call that has transactions work for this one, before any change: unpins the log.
  void let_log_go() noexcept;
  /// Within write() or statement(): the leaf of this tree that the slot used last, or null.
  [[nodiscard]] btree::LastLeaf* last_leaf(TreeId tree) noexcept { return leaves_.of(tree); }
  /// Within a ReadScope: the slot's cache of leaves that its own scans found to hold only ghosts.
  [[nodiscard]] btree::GhostRun& ghost_run() noexcept { return ghost_run_; }
  /// Within a call: tells this listener, in place of any earlier one, when the transaction ends.
  void tell_end_to(EndListener& listener) noexcept { decision_.tell(listener); }
  /// Within a call: decides this commit status with its own. It lives until the listener was told.
  void decide_too(versioning::CommitStatus& commit_status) noexcept {
    decision_.add(commit_status);
  }

  /// Ends the transaction; returns its commit record's GSN (for one that changed nothing, a reading
  /// of the clock that covers what it read). Throws not_serializable: it was rolled back; before it
  /// has committed, what making large values durable throws: commit() or rollback() may follow;
  /// after that, failed: whether it has committed is known once the database has been opened again.
  Gsn commit();
  /// Ends the transaction and undoes all its changes. Throws io_error or corruption if it cannot:
  /// the database has failed then, and opening it again completes the rollback.
  void rollback();

  [[nodiscard]] Isolation isolation() const noexcept { return view_.isolation(); }
  /// Within a ReadScope: the view that reads use; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept { return view_.read_view(); }
  /// Within a call: its read set, to be added to; null unless it is serializable and may write.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept { return validation_.reads(); }
  /// Begins a transaction that sees what is committed now, and all changes of this one, and ends
  /// before it. Not under `none`. Throws too_many_transactions.
  [[nodiscard]] TransactionPtr begin_view() const;
  /// Throws snapshot_too_old if its snapshot was cancelled.
  void require_view() const { view_.require(); }

  [[nodiscard]] bool is_active() const noexcept {
    return state_.load(std::memory_order_acquire) == State::active;
  }
  [[nodiscard]] SlotId slot() const noexcept { return slot_; }
  /// Whether it has log records.
  [[nodiscard]] bool has_logged() const noexcept { return log_.has_appended(); }
  /// Which of the slot's transactions this is.
  [[nodiscard]] std::uint64_t life() const noexcept {
    return life_.load(std::memory_order_relaxed);
  }

  static constexpr Gsn kNoChange{std::numeric_limits<std::uint64_t>::max()};
  /// No record of one of its changes has a GSN up to this; kNoChange if it has changed nothing.
  [[nodiscard]] Gsn oldest() const noexcept { return oldest_.load(); }

 private:
  friend class ReadScope;
  friend class Transactions;

  enum class State : std::uint8_t {
    ended = 1,
    active,
    too_old,  ///< ended by the engine; the owner does not know yet
  };

  [[nodiscard]] std::unique_lock<TurnLatch> take_turn();
  [[nodiscard]] TransactionSnapshot& begin_read();
  void begin(Durability durability, Isolation isolation, SnapshotUse use);
  [[nodiscard]] btree::LoggedWrites logged() noexcept;
  /// Returns call()'s result if its snapshot still stands afterwards.
  template <class Call, class Result = std::invoke_result_t<Call&>>
  Result confirmed(Call&& call) const {
    if constexpr (std::is_void_v<Result>) {
      call();
      require_view();
    } else {
      Result result = call();
      require_view();
      return result;
    }
  }
  void end_dropped() noexcept;
  bool cancel(Gsn newest) noexcept;
  /// The slot's, for all its transactions. Thread-safety: as VersionBuffer.
  [[nodiscard]] versioning::VersionBuffer& versions() noexcept { return versions_; }
  void give_up_failed() noexcept;

  void require_active() const;
  void begin_write();
  void roll_back_if_too_old(const Error& error);
  void undo_all();
  [[nodiscard]] Savepoint savepoint() const noexcept;
  void undo_to(const Savepoint& savepoint);
  void give_up_since(const Savepoint& savepoint) noexcept;
  void end_failed() noexcept;
  Gsn commit_changes();
  [[nodiscard]] std::optional<Gsn> append_commit() noexcept;
  [[nodiscard]] std::optional<Gsn> append_validated() noexcept;
  [[noreturn]] void refuse_commit();
  void prepare_frees();
  void reserve_end(bool prepared);
  Gsn commit_reads();
  void finish(State state, bool committed = false) noexcept;

  Transactions& owner_;
  const SlotId slot_;
  TurnLatch owner_latch_;
  // Protected by owner_latch_, except in begin(), before the handle is shared: the engine reads
  // only state_ and oldest_ of a transaction without changes.
  versioning::Writer writer_;
  versioning::VersionBuffer versions_;
  versioning::Pruner pruner_;
  wal::TransactionLog log_;
  btree::LargeValueOutcome large_values_;
  btree::LeftVersions left_versions_;
  btree::WriteContext context_;  ///< of the changes that it makes
  TransactionSnapshot view_;
  Validation validation_;
  CommitDecision decision_;
  btree::LeafMemory leaves_;
  btree::GhostRun ghost_run_;
  Durability durability_ = Durability::synchronous;
  bool has_read_ = false;
  bool has_leftovers_ = false;  ///< claims and versions of a transaction that could not be undone

  std::atomic<bool> alone_{false};
  std::atomic<std::uint64_t> life_{0};
  std::atomic<State> state_{State::ended};  ///< changed under owner_latch_
  std::atomic<Gsn> oldest_{kNoChange};      ///< changed under owner_latch_
};

}  // namespace palimpsest::txn
