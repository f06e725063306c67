#include "txn/transaction.h"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "txn/transactions.h"
#include "txn/undo.h"

namespace palimpsest::txn {

// A slot has one transaction at a time, so the slot's number identifies the writer.
Transaction::Transaction(Transactions& owner, SlotId slot)
    : Contacts(owner, writer_),
      owner_(owner),
      slot_(slot),
      writer_(owner.parts_.entries, versioning::WriterId{std::uint64_t{raw(slot)} + 1}),
      versions_(owner.parts_.entries, &owner.version_memory_),
      pruner_(owner.snapshots_, owner.parts_.entries),
      log_(owner.parts_.log, owner.parts_.clock, slot),
      left_versions_{.buffer = versions_},
      view_(owner.snapshots_, owner.parts_.slots, slot),
      validation_(owner, slot),
      decision_(owner, versions_.commit_status()) {}

btree::LoggedWrites Transaction::logged() noexcept {
  return {.log = log_,
          .large_values = large_values_,
          .pruner = pruner_,
          .reclaimer = owner_.parts_.reclaimer};
}

// The slot is claimed, and the handle is not shared yet.
void Transaction::begin(Durability durability, Isolation isolation, SnapshotUse use) {
  durability_ = durability;
  validation_.begin(isolation == Isolation::serializable && use == SnapshotUse::reads_and_writes);
  // What a transaction that could not be undone has left is not this one's own.
  const versioning::CommitStatus* const mine =
      has_leftovers_ ? nullptr : &versions_.commit_status();
  view_.begin(isolation, use, mine);
  const versioning::ReadView* const read_view = view_.read_view();
  const bool leaves_versions =
      read_view != nullptr && mine != nullptr && owner_.experimental_.versions;
  if (leaves_versions) {
    left_versions_.read_view = *read_view;
  }
  left_versions_.start = versioning::kUnknownStart;
  using Claims = btree::TransactionWrites::Claims;
  context_ = btree::TransactionWrites{
      .logged = logged(),
      .claims = owner_.experimental_.write_conflicts
                    ? std::optional(Claims{.writer = writer_,
                                           .versions = leaves_versions ? &left_versions_ : nullptr})
                    : std::nullopt,
      .reads = validation_.reads()};
  pruner_.begin();
  log_.begin();
  log_.begin_changes(kNoChange);  // this one is not asked to end because of the previous one's
                                  // changes
  has_read_ = false;
  begin_contacts();
  alone_.store(false, std::memory_order_relaxed);
  life_.fetch_add(1, std::memory_order_relaxed);
  state_.store(State::active, std::memory_order_release);
}

TransactionPtr Transaction::begin_view() const {
  check(isolation() != Isolation::none, "a transaction at isolation level none has no read view");
  TransactionPtr reader =
      owner_.begin(Durability::asynchronous, Isolation::snapshot, SnapshotUse::reads);
  reader->view_.see_as(view_);
  return reader;
}

std::unique_lock<TurnLatch> Transaction::take_turn() {
  if (!alone_.load(std::memory_order_relaxed)) [[likely]] {
    return std::unique_lock(owner_latch_);
  }
  std::unique_lock turn(owner_latch_, std::try_to_lock);
  while (!turn.owns_lock()) {
    std::this_thread::yield();
    static_cast<void>(turn.try_lock());
  }
  return turn;
}

void Transaction::require_active() const {
  switch (state_.load(std::memory_order_acquire)) {
    case State::active: return;
    case State::too_old: try { log_.require_space_if_repeated();
      } catch (const Error& error) {
        throw Error(error.code(),
                    std::string("the transaction has been rolled back: ") + error.what());
      }
      throw Error(
          ErrorCode::transaction_too_old,
          "the transaction kept the log from being reused for too long and has been rolled back");
    case State::ended: break;
  }
  throw Error(ErrorCode::invalid_argument, "the transaction has ended");
}

TransactionSnapshot& Transaction::begin_read() {
  require_active();
  has_read_ = true;
  return view_;
}

// From here on replay's start does not pass what this transaction appends: the checkpointer has
// either seen oldest_, or has read the start before, and what is appended later lies behind it.
void Transaction::begin_write() {
  require_active();
  require_view();
  if (oldest_.load(std::memory_order_relaxed) == kNoChange) {
    owner_.parts_.writer.require_working();
    // A cancellation of the slot's previous transaction does not apply to this one.
    owner_.parts_.slots[slot_].merge(Gsn{raw(log_.cancelled_up_to()) + 1});
    const Gsn oldest = owner_.parts_.slots[slot_].gsn();
    oldest_.store(oldest);
    log_.begin_changes(oldest);
  }
  if (context_.versions() != nullptr && left_versions_.start == versioning::kUnknownStart) {
    left_versions_.start = owner_.snapshots_.begin_changes(slot_);
  }
}

void Transaction::write_alone(const versioning::ReadView* bulk) noexcept {
  check(isolation() == Isolation::none, "a transaction that writes alone leaves no versions");
  context_ = btree::BulkWrites{.logged = logged(),
                               .claims = writer_,
                               .read_view = bulk == nullptr ? versioning::ReadView() : *bulk};
}

void Transaction::let_log_go() noexcept {
  if (!log_.has_changes() && oldest_.load(std::memory_order_relaxed) != kNoChange) {
    WorkerSlot& slot = owner_.parts_.slots[slot_];
    slot.merge(owner_.parts_.clock.now());
    slot.merge(Gsn{raw(log_.cancelled_up_to()) + 1});  // it stops pinning the log, as it was asked
                                                       // to
    const Gsn oldest = slot.gsn();
    log_.begin_changes(oldest);
    oldest_.store(oldest);
  }
}

void Transaction::roll_back_if_too_old(const Error& error) {
  if (error.code() == ErrorCode::transaction_too_old) {
    undo_all();
    finish(State::too_old);
  }
}

Gsn Transaction::commit() {
  const auto turn = take_turn();
  require_active();
  require_view();
  return log_.has_changes() ? commit_changes() : commit_reads();
}

Gsn Transaction::commit_changes() {
  Transactions& owner = owner_;
  if (validation_.is_needed() && (versions_.has_new() || decision_.redefines()) &&
      !validation_.check_until_now(view_.snapshot())) {
    refuse_commit();
  }
  if (large_values_.wrote) {
    owner.parts_.writer.require_working();  // a file that failed for another reason may still sync
    owner.parts_.log.need_pages();
  }
  const bool gives_up = !large_values_.given_up.empty();
  if (gives_up) {
    prepare_frees();
  }
  reserve_end(gives_up);
  PALIMPSEST_SYNC_POINT("txn.commit.begun");
  const std::optional<Gsn> appended = append_commit();
  if (!appended) {
    if (gives_up) {
      owner.deferred_frees_.forget_prepared(large_values_.given_up);
    }
    refuse_commit();
  }
  PALIMPSEST_SYNC_POINT("txn.commit.decided");
  const Gsn timestamp = *appended;
  if (gives_up) {  // before oldest_ is reset: one of the two always holds replay's start
    owner.deferred_frees_.add(timestamp, oldest_.load(), large_values_.given_up);
  }
  const Durability durability = durability_;
  finish(State::ended, true);
  PALIMPSEST_SYNC_POINT("txn.commit.appended");
  if (durability == Durability::asynchronous) {
    owner.committer_.committed();
    return timestamp;
  }
  owner.parts_.log.wait_durable(timestamp);
  if (gives_up) {
    owner.free_due();
  }
  return timestamp;
}

// I-7: announced before the timestamp is drawn, dated before the record is appended, committed once
// the record is in the log. Readers wait in between; nothing here waits, except for transactions
// with smaller dates. Returns nothing if what the transaction has read was changed.
std::optional<Gsn> Transaction::append_commit() noexcept {
  if (!versions_.has_new() && !decision_.redefines()) {
    return log_.append_commit();
  }
  decision_.announce();
  PALIMPSEST_SYNC_POINT("txn.commit.announced");
  if (validation_.is_needed()) {
    return append_validated();
  }
  const Gsn timestamp = log_.append_commit([&](Gsn drawn) { decision_.date(drawn); });
  PALIMPSEST_SYNC_POINT("txn.commit.dated");
  decision_.commit(timestamp);
  versions_.commit(timestamp);
  return timestamp;
}

// The record is appended only after validation has succeeded, when rounds of the log may have
// passed the date: so the record has a GSN of its own. A transaction that sees the changes, or
// changes the records next, finds this one decided, and what it writes has a larger GSN than the
// record (I-3).
std::optional<Gsn> Transaction::append_validated() noexcept {
  const Gsn date = owner_.parts_.clock.draw(owner_.parts_.slots[slot_].gsn());
  PALIMPSEST_SYNC_POINT("txn.commit.drawn");
  decision_.date(date);
  PALIMPSEST_SYNC_POINT("txn.commit.dated");
  if (!validation_.check_until(date) || view_.is_cancelled()) {
    decision_.abort();
    return std::nullopt;
  }
  const Gsn timestamp = log_.append_commit();
  decision_.commit(date);
  versions_.commit(date);
  return timestamp;
}

// Validation has failed, or may have missed something because the snapshot was cancelled.
void Transaction::refuse_commit() {
  const bool is_void = view_.is_cancelled();
  undo_all();
  if (!versions_.has_new()) {
    versions_.abort();  // the commit status is reused by the slot's next transaction
  }
  finish(State::ended);
  if (is_void) {
    view_.refuse();
  }
  validation_.refuse();
}

void Transaction::prepare_frees() {
  try {
    owner_.deferred_frees_.prepare(log_, large_values_.given_up);
  } catch (const Error& error) {
    roll_back_if_too_old(error);
    throw;
  }
}

void Transaction::reserve_end(bool prepared) {
  try {
    log_.reserve_end();
  } catch (...) {
    if (prepared) {
      owner_.deferred_frees_.forget_prepared(large_values_.given_up);
    }
    throw;
  }
}

Gsn Transaction::commit_reads() {
  const Gsn seen = owner_.parts_.clock.now();
  const bool waits = has_read_ && durability_ == Durability::synchronous;
  if (oldest_.load(std::memory_order_relaxed) != kNoChange) {
    log_.abandon();  // releases space reserved for changes that were not made
  }
  finish(State::ended, true);
  if (waits) {
    owner_.parts_.log.wait_durable(seen);
  }
  return seen;
}

void Transaction::rollback() {
  const auto turn = take_turn();
  if (state_.load(std::memory_order_relaxed) == State::too_old) {
    state_.store(State::ended, std::memory_order_release);
    return;  // the engine has already rolled it back
  }
  require_active();
  undo_all();
  finish(State::ended);
}

// What cannot be undone now is undone when the database is opened again. Until then no page may be
// written, and the records stay claimed.
void Transaction::undo_all() {
  if (versions_.has_new()) {
    versions_.commit_status().abort();
  }
  if (!log_.has_changes()) {
    log_.abandon();
    return;
  }
  try {
    roll_back(log_, owner_.parts_.trees);
  } catch (const std::exception& error) {
    owner_.parts_.log.fail(std::string("a transaction could not be rolled back: ") + error.what());
    end_failed();
    throw;
  }
}

Savepoint Transaction::savepoint() const noexcept {
  return {.change = log_.next_to_undo(),
          .given_up = large_values_.given_up.size(),
          .claims = writer_.claims(),
          .versions = versions_.mark()};
}

// After an error that has already ended the transaction, there is nothing to undo.
void Transaction::undo_to(const Savepoint& savepoint) {
  if (!is_active()) {
    return;
  }
  try {
    if (log_.next_to_undo() == savepoint.change ||
        roll_back_to(savepoint.change, log_, owner_.parts_.trees)) {
      give_up_since(savepoint);
      return;
    }
  } catch (const std::exception& error) {
    owner_.parts_.log.fail(std::string("a statement could not be undone: ") + error.what());
    end_failed();
    throw;
  }
  finish(State::ended);  // the log has failed, and everything has been undone in memory
  owner_.parts_.log.require_working();
}

// Releases what an undone statement claimed itself (not what the transaction had claimed before):
// other transactions may change these records from now on, although this one goes on. That is safe,
// because of such a record nothing of this transaction's is left:
// - In the log: each change has its compensation, which names the next change to undo, so neither
//   this transaction's rollback nor recovery comes to the record again. The next writer's change
//   has a GSN above the compensation's, which the page bears: a cut that keeps that change keeps
//   the compensation, too (I-4, I-5). The next writer relies on no commit of this transaction.
// - In the page: nothing will be undone, so no space has to be reserved (btree/leaf_entries.h (2)).
// - In the chain: the versions are removed first, while the record is claimed. A reader either
//   finds the page as it was, and takes back a change that is undone already, or finds the chain
//   without the versions. If they stayed, the next writer would meet an undecided change (first
//   updater wins), and if that is decided later the writer's own would lie above a younger one. All
//   of this transaction's versions in such a chain are the statement's. In the chain of a record
//   claimed before, the statement's versions are removed as well, from the top.
// - Elsewhere: the versions' memory is reused, so no version outlives its entry.
// A bulk's call keeps its claims: it ends now, and has the table to itself.
// The caller may have seen these records, so a serializable transaction adds them to its read set:
// nothing else keeps them unchanged from now on.
void Transaction::give_up_since(const Savepoint& savepoint) noexcept {
  large_values_.given_up.erase(
      large_values_.given_up.begin() + static_cast<std::ptrdiff_t>(savepoint.given_up),
      large_values_.given_up.end());
  if (versioning::ReadSet* const reads = validation_.reads()) {
    writer_.for_each_since(savepoint.claims, [&](const versioning::Entry& entry) {
      reads->add_key(entry.tree(), entry.key());
    });
  }
  if (!context_.is_alone()) {
    versions_.abort_since(savepoint.versions);
    PALIMPSEST_SYNC_POINT("txn.statement.versions_gone");
    writer_.end_since(savepoint.claims);
  }
}

// The records stay claimed, so that no transaction changes what is not undone. The versions stay,
// too: readers take back what is not undone.
void Transaction::end_failed() noexcept {
  log_.abandon();
  view_.end();
  validation_.end();
  has_leftovers_ = true;
  decision_.end(*this, false);
  state_.store(State::ended, std::memory_order_release);
}

void Transaction::finish(State state, bool committed) noexcept {
  if (!has_leftovers_) [[likely]] {
    if (versions_.has_new()) {  // not after a commit
      versions_.commit_status().abort();
      versions_.abort();
    }
    writer_.end();
    if (left_versions_.start != versioning::kUnknownStart) {
      owner_.snapshots_.end_changes(slot_);
    }
  }
  view_.end();
  validation_.end();
  if (versions_.has_old()) {
    versions_.collect_few(owner_.snapshots_.look(slot_), &writer_);
    pruner_.begin();
    pruner_.merge_recent(versions_);
  }
  large_values_.given_up.clear();
  large_values_.wrote = false;
  log_.work_for(nullptr);
  oldest_.store(kNoChange);
  decision_.end(*this, committed);
  state_.store(state, std::memory_order_release);
}

// Called when the database closes: a transaction that could not be undone has left versions.
void Transaction::give_up_failed() noexcept {
  if (versions_.has_new()) {
    versions_.abort();
  }
}

// Called when the handle is dropped. A transaction that has ended stays so until the slot's next
// begin(); the engine ends none of those.
void Transaction::end_dropped() noexcept {
  if (state_.load(std::memory_order_acquire) == State::ended) [[likely]] {
    return;
  }
  const auto turn = take_turn();
  if (state_.load(std::memory_order_relaxed) == State::active) {
    try {
      undo_all();
      finish(State::ended);
    } catch (const std::exception&) {
      return;  // it has ended all the same; the log has failed, and says why
    }
  }
  state_.store(State::ended, std::memory_order_release);
}

// Called by the engine. An owner that is inside a call finds out by itself. Returns whether this
// transaction had not been asked before.
bool Transaction::cancel(Gsn newest) noexcept {
  const bool is_first = oldest() > log_.cancelled_up_to();
  log_.cancel(newest);
  const std::unique_lock lock(owner_latch_, std::try_to_lock);
  if (!lock.owns_lock() || state_.load(std::memory_order_relaxed) != State::active ||
      oldest() > newest) {
    return is_first;
  }
  try {
    undo_all();
    finish(State::too_old);
  } catch (const std::exception&) {
    return is_first;  // it has ended all the same; the log has failed, and says why
  }
  return is_first;
}

}  // namespace palimpsest::txn
