#include "engine/epochs/bulk_ledger.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/cursor.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;

/// Of the record that has the next epoch.
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

template <class T>
std::vector<T> numbers_in(std::string_view bytes) {
  if (bytes.size() % sizeof(T) != 0) {
    refuse_record();
  }
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

BulkEpoch epoch_in(std::string_view key) {
  const auto ordered = numbers_in<std::uint64_t>(key);
  if (ordered.size() != 1) {
    refuse_record();
  }
  return BulkEpoch{__builtin_bswap64(ordered.front())};
}

static_assert(std::endian::native == std::endian::little);

}  // namespace

StoredBulks read_bulks(Catalog& trees) {
  StoredBulks bulks;
  const BTree* const tree = trees.find(kBulksTree);
  if (tree == nullptr) {
    return bulks;
  }
  btree::Cursor cursor(*tree);
  std::string value;
  for (cursor.seek_first(); cursor.valid(); cursor.next()) {
    if (!cursor.read_value(value)) {
      refuse_record();
    }
    if (const BulkEpoch epoch = epoch_in(cursor.key()); epoch != kNextEpoch) {
      bulks.aborted[epoch] = numbers_in<TreeId>(value);
    } else if (const auto next = numbers_in<std::uint64_t>(value); next.size() == 1) {
      bulks.next = next.front();
    } else {
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
    entries_[epoch] = {.trees = std::move(trees), .state = State::aborted};
  }
}

BTree& BulkLedger::tree(const txn::Transaction& inside) {
  BTree* tree = trees_.find(kBulksTree);
  if (tree == nullptr) {
    tree = trees_.make(transactions_, kBulksTree, &inside);
  }
  return tree != nullptr ? *tree : *trees_.find(kBulksTree);  // made by another meanwhile
}

BulkLedger::Begun BulkLedger::begin(const txn::Transaction& inside, std::span<BTree* const> trees) {
  const std::lock_guard beginning(beginning_);
  for (std::size_t tries = 1;
       tries < versioning::BulkEpochs::kPlaces && !epochs_.has_place(BulkEpoch{next_}); ++tries) {
    ++next_;
  }
  const BulkEpoch epoch{next_};
  Entry entry;
  for (const BTree* const changed : trees) {
    entry.trees.push_back(changed->id());
  }
  versioning::Fate& fate = epochs_.begin(epoch);
  ++next_;
  try {
    {
      const std::lock_guard lock(mutex_);
      entries_[epoch] = entry;
    }
    store(inside, epoch, entry.trees, true);
  } catch (...) {
    fate.abort();
    epochs_.forget(epoch);  // no page has it
    const std::lock_guard lock(mutex_);
    entries_.erase(epoch);
    throw;
  }
  PALIMPSEST_SYNC_POINT("engine.bulk.begun");
  return {.epoch = epoch, .fate = &fate};
}

void BulkLedger::add(const txn::Transaction& inside, BulkEpoch epoch,
                     std::span<BTree* const> trees) {
  const std::lock_guard beginning(beginning_);
  std::vector<TreeId> all;
  {
    const std::lock_guard lock(mutex_);
    all = entries_.at(epoch).trees;
  }
  for (const BTree* const changed : trees) {
    all.push_back(changed->id());
  }
  store(inside, epoch, all, false);
  const std::lock_guard lock(mutex_);
  entries_.at(epoch).trees = std::move(all);
}

// What could not be said durably may be there after a crash, and names a bulk without changes.
void BulkLedger::store(const txn::Transaction& inside, BulkEpoch epoch,
                       const std::vector<TreeId>& trees, bool is_new) {
  BTree& ledger = tree(inside);
  const txn::TransactionPtr by = transactions_.begin(txn::Durability::synchronous);
  by->work_for(inside);
  const auto put = [&](BulkEpoch key, const std::string& value) {
    if (by->upsert(ledger, key_of(key), value).conflict) {
      refuse_claimed();  // by its transaction, which could not commit
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
  check(removed.conflict || removed.existed, "a bulk that runs has an entry");
  return !removed.conflict;
}

void BulkLedger::ended(BulkEpoch epoch, bool committed) noexcept {
  const std::lock_guard lock(mutex_);
  if (const auto found = entries_.find(epoch); found != entries_.end()) {
    found->second.state = committed ? State::committed : State::aborted;
  }
}

std::optional<BulkLedger::Left> BulkLedger::first_left() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [epoch, entry] : entries_) {
    const bool is_settled = entry.state == State::committed &&
                            epochs_.state(epoch) == versioning::BulkEpochs::State::settled;
    if (is_settled || entry.state == State::aborted) {
      return Left{.epoch = epoch, .trees = entry.trees, .is_aborted = !is_settled};
    }
  }
  return std::nullopt;
}

bool BulkLedger::is_empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

// Who has settled the last of its leaves need not have committed: his record may lie beyond the
// clock, and must be durable before this commit is.
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

}  // namespace palimpsest::engine
