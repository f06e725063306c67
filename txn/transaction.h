// A transaction: changes of trees that count together or not at all.
//
// Isolation: at every level a record changed by an open transaction cannot be written by another (a
// conflict, a value). Under `snapshot` nor can one that was changed and committed since the
// transaction began. Versions are kept by all but `none`, whose changes every reader sees at once.
//
// Life: begin -> changes -> commit or rollback. Who drops the handle without either rolls back. The
// engine may end it in between, when it holds back the log: every later call then throws
// transaction_too_old, or no_space (wal/log_space.h), and everything is undone already.
//
// Commit: pages of large values are made durable; the commit record is appended, its GSN is the
// commit's timestamp, or larger (`serializable`); the records are given up, so that others may go
// on with them (whoever does has a larger one, and is not durable before: I-3); a synchronous
// commit then waits until g covers its record. What a synchronous one that only read has seen is
// durable when commit() returns.
// Latching: a short owner latch per call, held across the call: calls from several threads take
//           turns, and the engine comes in between two of them. Taken before everything else.
// Thread-safety: all functions, from any thread.
// Failure: Error as the tree's functions, failed, transaction_too_old, snapshot_too_old (then it
//          can only be rolled back). After any other error but those of commit() the transaction
//          may go on or roll back.
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
  /// For Transactions: one a slot, used again and again.
  Transaction(Transactions& owner, SlotId slot);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Whatever changes trees: call(const WriteContext&).
  template <class Call>
  auto write(Call&& call) {
    const auto turn = take_turn();
    begin_write();
    has_read_ = true;  // that a key is there, or is not, has been read
    try {
      return confirmed([&] { return call(context_); });
    } catch (const Error& error) {
      roll_back_if_too_old(error);
      throw;
    }
  }

  /// Several changes that count together: call(const WriteContext&) returns something with
  /// is_done(). If that is false, or if it throws, the changes of this call are undone, as
  /// rollback() does and throws, its records are others' to change, and the transaction may go on.
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
  /// A read: call() looks at trees by read view(), from any thread; others wait meanwhile. What it
  /// returns is void if this throws snapshot_too_old.
  template <class Call>
  auto read(Call&& call) {
    const auto turn = take_turn();
    require_active();
    has_read_ = true;
    const TransactionSnapshot::Call of_call(view_);
    try {
      return confirmed(call);
    } catch (const Error&) {
      require_view();  // what is missing, or damaged, may be so because the past has gone
      throw;
    }
  }
  /// A call that has others work for it, and looks at nothing by read view().
  template <class Call>
  auto hold(Call&& call) {
    const auto turn = take_turn();
    require_active();
    require_view();
    return call();
  }
  /// Before its first call: nobody else has the handle. The owner latch, free but for the engine's
  /// short looks, is only tried then, and may be taken under others' latches.
  void work_alone() noexcept { alone_.store(true, std::memory_order_relaxed); }
  /// Alone, as part of a call of `other`, from within which it was begun. If the engine asks that
  /// one to end, this one's calls throw transaction_too_old.
  void work_for(const Transaction& other) noexcept {
    work_alone();
    log_.work_for(&other.log_);
  }
  /// Before its first call: it writes where nobody else does meanwhile; not null: as this bulk.
  void write_alone(const versioning::ReadView* bulk) noexcept;
  /// Within a call that has others work for it: it has changed nothing, and holds no log back.
  void let_log_go() noexcept;
  /// Within write() or statement(): the leaf of this tree that the slot used last, or null.
  [[nodiscard]] btree::LastLeaf* last_leaf(TreeId tree) noexcept { return leaves_.of(tree); }
  /// Within read(): what the slot remembers of leaves that its own walks came through in vain.
  [[nodiscard]] btree::GhostRun& ghost_run() noexcept { return ghost_run_; }
  /// Within a call: tells this listener, and no other, when it ends.
  void tell_end_to(EndListener& listener) noexcept { decision_.tell(listener); }
  /// Within a call: this one, which lives until it is told to have ended, is decided with its own.
  void decide_too(versioning::CommitStatus& commit_status) noexcept {
    decision_.add(commit_status);
  }

  /// Ends it; returns its commit record's GSN (for one that changed nothing, a reading of the clock
  /// that covers what it read). Throws not_serializable: it was rolled back; before it has
  /// committed what making large values durable throws: it may be tried again, or rolled back;
  /// failed after that: whether it has committed is known once the database has been opened again.
  Gsn commit();
  /// Ends it and undoes all its changes. Throws io_error, corruption if it cannot: the database has
  /// failed then, and opening it again will do it.
  void rollback();

  [[nodiscard]] Isolation isolation() const noexcept { return view_.isolation(); }
  /// Within a call of read(): whose view that has; null: the newest state.
  [[nodiscard]] const versioning::ReadView* read_view() const noexcept { return view_.read_view(); }
  /// Within a call, null unless it is serializable and may write: what it has read, to be added to.
  [[nodiscard]] versioning::ReadSet* reads() const noexcept { return validation_.reads(); }
  /// Another transaction, ended before this one, for a reader that keeps seeing what had been
  /// committed by now, and what this one changes. Not under `none`. Throws too_many_transactions.
  [[nodiscard]] TransactionPtr begin_view() const;
  /// Throws snapshot_too_old if what it sees was given up.
  void require_view() const { view_.require(); }

  [[nodiscard]] bool is_active() const noexcept {
    return state_.load(std::memory_order_acquire) == State::active;
  }
  [[nodiscard]] SlotId slot() const noexcept { return slot_; }
  /// Whether it has left anything in the log.
  [[nodiscard]] bool has_logged() const noexcept { return log_.has_appended(); }
  /// Which of the slot's transactions it is.
  [[nodiscard]] std::uint64_t life() const noexcept {
    return life_.load(std::memory_order_relaxed);
  }

  static constexpr Gsn kNoChange{std::numeric_limits<std::uint64_t>::max()};
  /// No record of a change of it has a GSN up to this; kNoChange if it has changed nothing.
  [[nodiscard]] Gsn oldest() const noexcept { return oldest_.load(); }

 private:
  friend class Transactions;

  enum class State : std::uint8_t {
    ended = 1,
    active,
    too_old,  ///< ended by the engine; the owner does not know yet
  };

  [[nodiscard]] std::unique_lock<TurnLatch> take_turn();
  void begin(Durability durability, Isolation isolation, SnapshotUse use);
  /// What call() returns, if what it has seen is still what the transaction sees.
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
  void cancel(Gsn newest) noexcept;
  /// The slot's, over all its transactions; any thread may call what VersionBuffer allows to any.
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
  // Protected by owner_latch_, but for begin(), which comes before anybody else has the handle: of
  // a transaction that has changed nothing, the engine looks at state_ and oldest_ only.
  versioning::Writer writer_;
  versioning::VersionBuffer versions_;
  versioning::Pruner pruner_;
  wal::TransactionLog log_;
  btree::LargeValueOutcome large_values_;
  btree::WriteContext context_;
  TransactionSnapshot view_;
  Validation validation_;
  CommitDecision decision_;
  btree::LeafMemory leaves_;
  btree::GhostRun ghost_run_;
  Durability durability_ = Durability::synchronous;
  bool has_read_ = false;
  bool has_leftovers_ = false;  ///< of one that could not be undone: claims, versions

  std::atomic<bool> alone_{false};
  std::atomic<std::uint64_t> life_{0};
  std::atomic<State> state_{State::ended};  ///< changed under owner_latch_
  std::atomic<Gsn> oldest_{kNoChange};      ///< changed under owner_latch_
};

}  // namespace palimpsest::txn
