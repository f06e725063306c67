#include "bulk/bulk_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/cursor.h"

namespace palimpsest::bulk {
namespace {

using btree::BTree;

/// The key of the record that has the next epoch.
constexpr BulkEpoch kNextEpoch{0};

std::string key_of(BulkEpoch epoch) {
  std::string key(sizeof epoch, '\0');
  const std::uint64_t ordered = __builtin_bswap64(raw(epoch));
  std::memcpy(key.data(), &ordered, sizeof ordered);
  return key;
}

std::string value_of(std::uint64_t next) {
  std::string value(sizeof next, '\0');
  std::memcpy(value.data(), &next, sizeof next);
  return value;
}

std::string value_of(const std::vector<TreeId>& trees) {
  std::string value(trees.size() * sizeof(TreeId), '\0');
  std::memcpy(value.data(), trees.data(), value.size());
  return value;
}

[[noreturn]] void refuse_record() {
  throw Error(ErrorCode::corruption, "a record of the running bulks is damaged");
}

[[noreturn]] void refuse_claimed() {
  throw Error(ErrorCode::conflict, "the record of a running bulk is claimed");
}

static_assert(std::endian::native == std::endian::little);

}  // namespace

bool add_record(StoredBulks& bulks, ByteView key, ByteView value) {
  std::uint64_t ordered = 0;
  if (key.size() != sizeof ordered) {
    return false;
  }
  std::memcpy(&ordered, key.data(), sizeof ordered);
  const BulkEpoch epoch{__builtin_bswap64(ordered)};
  if (epoch == kNextEpoch) {
    if (value.size() != sizeof bulks.next) {
      return false;
    }
    std::memcpy(&bulks.next, value.data(), sizeof bulks.next);
    return true;
  }
  if (value.size() % sizeof(TreeId) != 0) {
    return false;
  }
  std::vector<TreeId>& trees = bulks.aborted[epoch];
  trees.resize(value.size() / sizeof(TreeId));
  std::memcpy(trees.data(), value.data(), value.size());
  return true;
}

StoredBulks read_bulks(txn::TreeCatalog& trees) {
  StoredBulks bulks;
  const BTree* const tree = trees.find(kBulksTree);
  if (tree == nullptr) {
    return bulks;
  }
  btree::Cursor cursor(*tree);
  std::string value;
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    if (!cursor.read_value(value) || !add_record(bulks, cursor.key(), value)) {
      refuse_record();
    }
  }
  return bulks;
}

void BulkLedger::open() {
  StoredBulks bulks = read_bulks(trees_);
  next_ = bulks.next;
  for (auto& [epoch, trees] : bulks.aborted) {
    epochs_.enter_aborted(epoch);
    enter(epoch, trees, State::aborted);
  }
}

void BulkLedger::enter(BulkEpoch epoch, const std::vector<TreeId>& trees, State state) {
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign(
      epoch, Entry(Trees(trees.begin(), trees.end(), entries_.get_allocator().memory()), state));
}

BTree& BulkLedger::tree(const txn::Transaction& inside) {
  BTree* tree = trees_.find(kBulksTree);
  if (tree == nullptr) {
    tree = trees_.make(transactions_, kBulksTree, &inside);
  }
  return tree != nullptr ? *tree : *trees_.find(kBulksTree);  // another thread has made it
                                                              // meanwhile
}

BulkLedger::Begun BulkLedger::begin(const txn::Transaction& inside, std::span<BTree* const> trees) {
  const std::lock_guard beginning(beginning_);
  const BulkEpoch epoch = epochs_.next_free(BulkEpoch{next_}).value_or(BulkEpoch{next_});
  std::vector<TreeId> ids;
  for (const BTree* const changed : trees) {
    ids.push_back(changed->id());
  }
  versioning::CommitStatus& commit_status = epochs_.begin(epoch);
  next_ = raw(epoch) + 1;
  try {
    enter(epoch, ids, State::running);
    store(inside, epoch, ids, true);
  } catch (...) {
    commit_status.abort();
    epochs_.forget(epoch);  // no page has it
    const std::lock_guard lock(mutex_);
    entries_.erase(epoch);
    throw;
  }
  PALIMPSEST_SYNC_POINT("engine.bulk.begun");
  return {.epoch = epoch, .commit_status = &commit_status};
}

void BulkLedger::add(const txn::Transaction& inside, BulkEpoch epoch,
                     std::span<BTree* const> trees) {
  const std::lock_guard beginning(beginning_);
  std::vector<TreeId> all;
  {
    const std::lock_guard lock(mutex_);
    const Trees& known = entries_.find(epoch)->second.trees;
    all.assign(known.begin(), known.end());
  }
  for (const BTree* const changed : trees) {
    all.push_back(changed->id());
  }
  store(inside, epoch, all, false);
  enter(epoch, all, State::running);
}

bool BulkLedger::has_room() const {
  const std::lock_guard beginning(beginning_);
  return epochs_.next_free(BulkEpoch{next_}).has_value();
}

// An entry that was not stored durably may exist after a crash, and names a bulk without changes.
void BulkLedger::store(const txn::Transaction& inside, BulkEpoch epoch,
                       const std::vector<TreeId>& trees, bool is_new) {
  BTree& ledger = tree(inside);
  const txn::TransactionPtr by = transactions_.begin(txn::Durability::synchronous);
  by->work_for(inside);
  const auto put = [&](BulkEpoch key, const std::string& value) {
    if (by->upsert(ledger, key_of(key), value).conflict) {
      refuse_claimed();  // claimed by the bulk's transaction, which could not commit
    }
  };
  if (is_new) {
    put(kNextEpoch, value_of(next_));
  }
  put(epoch, value_of(trees));
  by->commit();
}

bool BulkLedger::commit_within(const btree::WriteContext& by, BulkEpoch epoch) {
  const btree::WriteOutcome removed = trees_.find(kBulksTree)->remove(by, key_of(epoch));
  check(removed.conflict || removed.existed, "a running bulk has an entry in the ledger");
  return !removed.conflict;
}

void BulkLedger::ended(BulkEpoch epoch, bool committed) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(epoch); found != entries_.end()) {
    found->second.state = committed ? State::committed : State::aborted;
  }
}

BulkLedger::Left BulkLedger::left_of(BulkEpoch epoch, const Entry& entry) {
  return {.epoch = epoch,
          .trees = {entry.trees.begin(), entry.trees.end()},
          .is_aborted = entry.state == State::aborted};
}

std::optional<BulkLedger::Left> BulkLedger::first_left(
    FunctionRef<bool(BulkEpoch)> is_wanted) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [epoch, entry] : entries_) {
    const bool is_retired = entry.state == State::committed &&
                            epochs_.state(epoch) == versioning::BulkEpochs::State::retired;
    if ((is_retired || entry.state == State::aborted) && is_wanted(epoch)) {
      return left_of(epoch, entry);
    }
  }
  return std::nullopt;
}

std::size_t BulkLedger::aborted() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [](const auto& one) { return one.second.state == State::aborted; }));
}

bool BulkLedger::has_unretired() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_,
                             [](const auto& one) { return one.second.state == State::committed; });
}

bool BulkLedger::is_empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

// The transaction that resolved the bulk's last leaf need not have committed: its record may lie
// beyond the clock, and must be durable before this commit is.
void BulkLedger::forget(const Left& left) {
  if (left.is_aborted) {
    transactions_.cover_all_appended();
    const txn::TransactionPtr by = transactions_.begin(txn::Durability::asynchronous);
    if (by->remove(*trees_.find(kBulksTree), key_of(left.epoch)).conflict) {
      refuse_claimed();
    }
    by->commit();
    epochs_.forget(left.epoch);
  }
  const std::lock_guard lock(mutex_);
  entries_.erase(left.epoch);
}

}  // namespace palimpsest::bulk
