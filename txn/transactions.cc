#include "txn/transactions.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/coarse_clock.h"
#include "base/spin_wait.h"
#include "base/sync_point.h"
#include "base/thread_number.h"

namespace palimpsest::txn {
namespace {

/// How long a thread that waits for a slot sleeps before it looks again.
constexpr auto kSlotPause = std::chrono::milliseconds(10);

/// How long a definer that waits for writers sleeps before it looks again.
constexpr auto kWriterPause = std::chrono::milliseconds(1);

/// Rounds through the slots when collecting versions: in each, some collections may have had to
/// give way.
constexpr int kTurnsAside = 8;

constexpr std::string_view kSnapshotCancelled =
    "a snapshot was cancelled: its transaction or cursor gets snapshot_too_old";

/// Threads return to the slots that they used.
SlotId hint_of_thread(std::uint32_t slots) noexcept {
  return SlotId{static_cast<std::uint32_t>(slots == 0 ? 0 : thread_number() % slots)};
}

SlotId claim_first(WorkerSlots& slots, Clock& clock) {
  const auto slot = slots.claim(SlotId{0});
  check(slot.has_value(), "slots exist before transactions begin");
  slots[*slot].merge(clock.now());
  return *slot;
}

}  // namespace

void EndTransaction::operator()(Transaction* transaction) const noexcept {
  owner->give_back(*transaction);
}

Transactions::Transactions(const Parts& parts, const TransactionOptions& options)
    : parts_(parts),
      options_(options),
      experimental_(options.experimental),
      read_memory_(options.read_bytes_max),
      by_slot_(std::make_unique<std::atomic<Transaction*>[]>(parts.slots.slots_max())),
      begun_(std::make_unique<Begun[]>(parts.slots.slots_max())),
      snapshots_(parts.clock, parts.slots),
      version_memory_(*this, parts.entries, options.version_bytes_max),
      service_slot_(claim_first(parts.slots, parts.clock)),
      service_log_(parts.log, parts.clock, service_slot_),
      deferred_frees_(service_log_, parts.space),
      committer_(parts.log, options.asynchronous_interval) {}

Transactions::~Transactions() {
  check(active() == 0, "all transactions end before their database is closed");
  for (const auto& transaction : owned_) {
    transaction->give_up_failed();
  }
  collect_versions();  // no snapshot is left
  parts_.slots.release(service_slot_);
}

Transaction& Transactions::at(SlotId slot) {
  std::atomic<Transaction*>& place = by_slot_[raw(slot)];
  Transaction* transaction = place.load(std::memory_order_acquire);
  if (transaction == nullptr) {
    auto made = std::make_unique<Transaction>(*this, slot);
    const std::lock_guard lock(making_);
    owned_.push_back(std::move(made));
    transaction = owned_.back().get();
    place.store(transaction);  // before it can publish a change: wait_for_writers()
  }
  return *transaction;
}

TransactionPtr Transactions::begin(Durability durability, Isolation isolation, SnapshotUse use) {
  if (!experimental_.write_conflicts && isolation != Isolation::none) {
    throw Error(ErrorCode::invalid_argument, "without write conflicts the isolation level is none");
  }
  if (!(experimental_.write_conflicts && experimental_.versions) && active() != 0) {
    throw Error(ErrorCode::invalid_argument,
                "without write conflicts or versions only one transaction runs at a time");
  }
  const SlotId slot = claim_slot();
  try {
    Transaction& transaction = at(slot);
    parts_.slots[slot].merge(parts_.clock.now());
    begun_[raw(slot)].at.store(CoarseClock::now(), std::memory_order_relaxed);
    begun_[raw(slot)].only_reads.store(use == SnapshotUse::reads, std::memory_order_relaxed);
    transaction.begin(durability, isolation, use);
    return {&transaction, EndTransaction{this}};
  } catch (...) {
    parts_.slots.release(slot);
    throw;
  }
}

template <class Use>
void Transactions::for_each(Use&& use) const {
  for (std::uint32_t slot = 0; slot < parts_.slots.count(); ++slot) {
    if (Transaction* const transaction = by_slot_[slot].load(std::memory_order_acquire)) {
      use(*transaction);
    }
  }
}

// No wake-up is lost: a waiting thread increments waiting_ before it looks for a slot; a thread
// that gives a slot back releases it before it looks at waiting_. The pause bounds the cost if one
// were.
SlotId Transactions::claim_slot() {
  const SlotId hint = hint_of_thread(parts_.slots.count());
  if (const auto slot = parts_.slots.claim(hint)) [[likely]] {
    return *slot;
  }
  const auto deadline = std::chrono::steady_clock::now() + options_.begin_patience;
  waiting_.fetch_add(1);
  for (;;) {
    if (const auto slot = parts_.slots.claim(hint)) {
      waiting_.fetch_sub(1);
      return *slot;
    }
    std::unique_lock lock(waiting_mutex_);
    slot_freed_.wait_for(lock, kSlotPause);
    if (std::chrono::steady_clock::now() > deadline) {
      waiting_.fetch_sub(1);
      throw Error(ErrorCode::too_many_transactions,
                  fmt::format("{} transactions are active, and none has ended within {} ms",
                              parts_.slots.slots_max() - 1, options_.begin_patience.count()));
    }
  }
}

void Transactions::give_back(Transaction& transaction) noexcept {
  transaction.end_dropped();
  parts_.slots.release(transaction.slot());
  if (waiting_.load() != 0) {
    slot_freed_.notify_one();
  }
}

Gsn Transactions::oldest() const {
  Gsn oldest = DeferredFrees::kNone;
  for (std::uint32_t slot = 0; slot < parts_.slots.count(); ++slot) {
    if (const Transaction* transaction = by_slot_[slot].load(std::memory_order_acquire)) {
      oldest = std::min(oldest, transaction->oldest());
    }
  }
  // Read last: a commit enters its deferred frees before it leaves its slot.
  return std::min(oldest, deferred_frees_.oldest());
}

// Transactions that publish a change later find the definer and keep out of its way: they are not
// waited for.
Transactions::WriterWait Transactions::wait_for_writers(
    const Transaction& by, std::string_view table, std::chrono::steady_clock::time_point until) {
  std::vector<DefinerWaits::Awaited> writers;
  for (std::uint32_t slot = 0; slot < parts_.slots.count(); ++slot) {
    const Transaction* const transaction = by_slot_[slot].load();
    if (transaction != nullptr && transaction != &by &&
        transaction->oldest() != Transaction::kNoChange) {
      writers.push_back({transaction, transaction->life()});  // this transaction, or a later one of
                                                              // the slot
    }
  }
  if (std::optional<std::string> other = definer_waits_.enter(by, table, writers)) {
    return {.end = WriterWait::End::circle, .table = *std::move(other)};
  }
  struct Leave {
    DefinerWaits& waits;
    const Transaction& by;
    ~Leave() { waits.leave(by); }
  } const leave{definer_waits_, by};
  PALIMPSEST_SYNC_POINT("txn.definer.waits");
  const OwnWait own;
  for (const DefinerWaits::Awaited& writer : writers) {
    for (; writer.is_writing(); std::this_thread::sleep_for(kWriterPause)) {
      if (own.is_in_vain(*writer.transaction)) {
        OwnWait::refuse(fmt::format("table \"{}\": a change of its definition, or a bulk,", table));
      }
      if (std::chrono::steady_clock::now() >= until) {
        return {.end = WriterWait::End::timed_out, .table = {}};
      }
    }
  }
  return {};
}

const Transaction* Transactions::writer(versioning::WriterId id) const noexcept {
  const std::uint64_t slot = raw(id) - 1;
  return id == versioning::kNoWriter || slot >= parts_.slots.count()
             ? nullptr
             : by_slot_[slot].load(std::memory_order_acquire);
}

const Transaction* Transactions::owner_of_oldest_snapshot() const noexcept {
  const auto oldest = snapshots_.oldest();
  return oldest ? by_slot_[raw(oldest->slot)].load(std::memory_order_acquire) : nullptr;
}

std::string Transactions::oldest_reader_text() const {
  const Transaction* const reader = owner_of_oldest_snapshot();
  return reader == nullptr
             ? std::string("a transaction that has ended by now")
             : fmt::format(
                   "the transaction, or cursor, with the oldest snapshot (slot {}, used "
                   "last by thread {})",
                   raw(reader->slot()), reader->thread().number());
}

std::optional<Transactions::OldestReader> Transactions::oldest_reader() const noexcept {
  const auto oldest = snapshots_.oldest();
  if (!oldest) {
    return std::nullopt;
  }
  const Begun& begun = begun_[raw(oldest->slot)];
  return OldestReader{.slot = oldest->slot,
                      .age = CoarseClock::now() - begun.at.load(std::memory_order_relaxed),
                      .only_reads = begun.only_reads.load(std::memory_order_relaxed)};
}

std::size_t Transactions::cancel_older_than(Gsn gsn, std::size_t most) noexcept {
  std::size_t found = 0;
  for (std::uint32_t slot = 0; slot < parts_.slots.count() && found < most; ++slot) {
    Transaction* transaction = by_slot_[slot].load(std::memory_order_acquire);
    if (transaction != nullptr && transaction->oldest() <= gsn) {
      ++found;
      if (transaction->cancel(gsn)) {
        report_cancelled(transaction->slot(),
                         "a transaction was cancelled: it gets transaction_too_old, or no_space",
                         "its changes keep the log from being reused");
      }
    }
  }
  return found;
}

std::size_t Transactions::cancel_snapshots_for(Gsn gsn) noexcept {
  std::size_t cancelled = 0;
  const Gsn newest = deferred_frees_.newest_commit(gsn);
  while (const auto oldest = snapshots_.oldest()) {
    if (oldest->snapshot >= newest || !snapshots_.cancel(oldest->slot, oldest->snapshot)) {
      break;
    }
    ++cancelled;
    report_cancelled(oldest->slot, kSnapshotCancelled,
                     "it keeps pages from being freed, and so the log from being reused");
  }
  return cancelled;
}

// For validation

bool Transactions::visit_dated(SlotId except, Gsn after, Gsn upto,
                               FunctionRef<bool(const versioning::Version&)> visit) const noexcept {
  for (std::uint32_t slot = 0; slot < parts_.slots.count(); ++slot) {
    Transaction* const transaction = by_slot_[slot].load();
    if (transaction == nullptr || SlotId{slot} == except) {
      continue;
    }
    versioning::VersionBuffer& versions = transaction->versions();
    for (SpinWait wait; versions.commit_status().is_deciding(upto); wait.once()) {
      PALIMPSEST_SYNC_POINT("txn.validation.waiting");
    }
    if (!versions.visit_dated(after, upto, visit)) {
      return false;
    }
  }
  return true;
}

void Transactions::note_bulk(Gsn date) noexcept {
  std::uint64_t newest = newest_bulk_.load();
  while (newest < raw(date) && !newest_bulk_.compare_exchange_weak(newest, raw(date))) {
  }
}

void Transactions::begin_publishing(Gsn date) noexcept {
  publishing_.fetch_add(1);
  note_bulk(date);
}

void Transactions::end_publishing() noexcept {
  note_bulk(parts_.clock.draw(Gsn{0}));
  publishing_.fetch_sub(1);
}

// Versions

void Transactions::collect_versions(FunctionRef<bool()> is_enough) noexcept {
  const Gsn horizon = snapshots_.horizon();
  parts_.entries.raise_horizon(horizon);
  for_each([&](Transaction& transaction) { transaction.versions().collect(horizon, is_enough); });
  parts_.epochs.retire(horizon);
}

bool Transactions::collect_versions_aside(Gsn horizon) noexcept {
  parts_.entries.raise_horizon(horizon);
  bool all = false;
  for (int turn = 0; turn < kTurnsAside && !all; ++turn) {
    all = true;
    for_each([&](Transaction& transaction) {
      all = transaction.versions().collect_aside(horizon) && all;
    });
  }
  parts_.epochs.retire(horizon);
  return all;
}

void Transactions::trim_idle() noexcept {
  for_each([&](Transaction& transaction) {
    if (parts_.slots.claim_exactly(transaction.slot())) {
      transaction.versions().trim();
      parts_.slots.release(transaction.slot());
    }
  });
}

std::uint64_t Transactions::version_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for_each([&](Transaction& transaction) { bytes += transaction.versions().size_bytes(); });
  return bytes;
}

// Versions that a bulk makes late (versioning/bulk_epochs.h) are never the only ones that a
// snapshot holds: the bulk's own transaction has changed the ledger, and its versions have the same
// date. Folded versions (versioning/spans.h) may be all that a snapshot holds.
bool Transactions::cancel_oldest_snapshot() noexcept {
  Gsn oldest_version{std::numeric_limits<std::uint64_t>::max()};
  for_each([&](Transaction& transaction) {
    oldest_version = std::min(oldest_version, transaction.versions().oldest());
  });
  const auto oldest = snapshots_.oldest();
  const bool holds_some =
      oldest &&
      ((oldest->snapshot < oldest_version && oldest_version <= parts_.clock.now()) ||
       (parts_.entries.spans() != 0 && oldest->snapshot < parts_.entries.newest_folded()));
  const bool is_cancelled = holds_some && snapshots_.cancel(oldest->slot, oldest->snapshot);
  if (is_cancelled) {
    report_cancelled(oldest->slot, kSnapshotCancelled,
                     "versions that it needs fill the memory for versions");
  }
  return is_cancelled;
}

// The slot may have begun another transaction meanwhile: then the age is that one's.
void Transactions::report_cancelled(SlotId slot, std::string_view message,
                                    std::string_view cause) const noexcept {
  const Begun& begun = begun_[raw(slot)];
  const Transaction* const transaction = by_slot_[raw(slot)].load(std::memory_order_acquire);
  const std::uint32_t thread = transaction == nullptr ? 0 : transaction->thread().number();
  const auto age = CoarseClock::now() - begun.at.load(std::memory_order_relaxed);
  log_to(options_.log, LogLevel::warning, component::kTransaction, message,
         {{"slot", std::uint64_t{raw(slot)}},
          {"thread", std::uint64_t{thread}},
          {"age_ms", std::int64_t{age.count()}},
          {"only_reads", begun.only_reads.load(std::memory_order_relaxed)},
          {"cause", cause},
          {"version_bytes", parts_.entries.bytes_in_use()},
          {"version_bytes_max", version_memory_.bytes_max()}});
}

const versioning::VersionBuffer* Transactions::folding_waits_for() const noexcept {
  const auto writer = snapshots_.oldest_writer();
  const auto oldest = snapshots_.oldest();
  if (!writer || !oldest || oldest->snapshot >= writer->snapshot ||
      parts_.clock.now() <= writer->snapshot) {
    return nullptr;
  }
  Transaction* const transaction = by_slot_[raw(writer->slot)].load(std::memory_order_acquire);
  return transaction == nullptr ? nullptr : &transaction->versions();
}

void Transactions::free_due() noexcept {
  try {
    free_pending();
  } catch (const std::exception&) {  // left to the next call
  }
}

bool Transactions::free_deferred() {
  if (deferred_frees_.empty()) {
    return false;
  }
  parts_.log.wait_durable(deferred_frees_.newest_commit());
  return free_pending();
}

std::uint32_t Transactions::active() const noexcept {
  std::uint32_t active = 0;
  for (std::uint32_t slot = 0; slot < parts_.slots.count(); ++slot) {
    const Transaction* transaction = by_slot_[slot].load(std::memory_order_acquire);
    const bool is_held =
        transaction != nullptr &&
        transaction->state_.load(std::memory_order_acquire) != Transaction::State::ended;
    active += is_held ? 1U : 0U;
  }
  return active;
}

}  // namespace palimpsest::txn
