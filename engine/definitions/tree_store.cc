#include "engine/definitions/tree_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <optional>

#include "palimpsest/error.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "btree/cursor.h"
#include "btree/leaf_walk.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;

/// Records that one transaction removes, and leaves that it purges.
constexpr std::size_t kRecordsAtATime = 256;
constexpr std::size_t kLeavesAtATime = 64;
/// Times that many leaves that one step settles.
constexpr int kSettledAtATime = 64;
/// Before trees of which none could be emptied are tried again.
constexpr auto kPauseAfterFailure = std::chrono::seconds(1);
/// Trees that may wait to be emptied while others are made, in a large memory.
constexpr std::size_t kWaitingMax = 32;
/// How long somebody waits who needs a tree while more wait: some can only be emptied later.
constexpr auto kPatience = std::chrono::seconds(1);

/// The number of a tree of this store; nothing for others.
std::optional<std::uint64_t> number_of(std::string_view name) noexcept {
  if (!name.starts_with(kTreeNamePrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kTreeNamePrefix.size());
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? std::optional(number)
                                                                             : std::nullopt;
}

std::vector<std::string> first_keys(const BTree& tree) {
  std::vector<std::string> keys;
  btree::Cursor cursor(tree, kRecordsAtATime);
  for (cursor.seek_first(); cursor.valid() && keys.size() < kRecordsAtATime; cursor.next()) {
    keys.emplace_back(cursor.key());
  }
  return keys;
}

/// Whether its root is all there is, and holds nothing.
bool is_empty(const BTree& tree) {
  btree::LeafWalk walk(tree.descent(), {.lower = {}, .upper = std::nullopt},
                       btree::Direction::forward);
  return tree.descent().root_level() == 0 && walk.next() && walk.leaf().count() == 0;
}

/// A key in each of the first leaves for which wanted(leaf) is true.
template <class Wanted>
std::vector<std::string> keys_of_leaves(const BTree& tree, const Wanted& wanted) {
  std::vector<std::string> keys;
  btree::LeafWalk walk(tree.descent(), {.lower = {}, .upper = std::nullopt},
                       btree::Direction::forward);
  while (keys.size() < kLeavesAtATime && walk.next()) {
    const btree::LeafView leaf = walk.leaf();
    if (wanted(leaf)) {
      const ByteView fence = leaf.lower_fence();
      keys.emplace_back(fence.empty() ? ByteView("\0", 1) : fence);
    }
  }
  return keys;
}

std::vector<std::string> keys_of_empty_leaves(const BTree& tree) {
  return keys_of_leaves(tree, [](const btree::LeafView& leaf) { return leaf.count() == 0; });
}

}  // namespace

TreeStore::~TreeStore() {
  stop();
}

bool TreeStore::is_name(std::string_view name) noexcept {
  return number_of(name).has_value();
}

void TreeStore::open(const std::set<TreeId>& used) {
  const std::lock_guard lock(mutex_);
  for (const Catalog::Entry& entry : catalog_.entries()) {
    const auto number = number_of(entry.name);
    if (!number) {
      continue;
    }
    ++trees_;
    next_number_ = std::max(next_number_, *number + 1);
    const bool has_room = vacant_.size() + waiting_.size() < catalog_.open_max() / 2;
    if (!used.contains(entry.id) && has_room) {
      BTree& tree = catalog_.tree(entry.id);
      (is_empty(tree) ? vacant_ : waiting_).push_back(&tree);
    }
  }
  vacant_.reserve(trees_);
  waiting_.reserve(trees_);
}

BTree& TreeStore::take(const txn::Transaction& inside) {
  std::string name;
  {
    std::unique_lock lock(mutex_);
    if (BTree* const tree = take_vacant(lock)) {
      return *tree;
    }
    ++trees_;  // whether or not it comes to be
    vacant_.reserve(trees_);
    waiting_.reserve(trees_);
    name = fmt::format("{}{}", kTreeNamePrefix, next_number_++);
  }
  BTree* const made = catalog_.make(transactions_, name, &inside);
  check(made != nullptr, "names of new trees are new");
  return *made;
}

BTree* TreeStore::take_vacant(std::unique_lock<std::mutex>& lock) {
  const bool in_background = thread_.joinable();
  if (vacant_.empty() && in_background &&
      waiting_.size() >= std::clamp<std::size_t>(catalog_.open_max() / 8, 1, kWaitingMax)) {
    emptied_.wait_for(lock, kPatience, [this] { return !vacant_.empty() || stopping_; });
  }
  if (vacant_.empty()) {
    return nullptr;
  }
  BTree* const tree = vacant_.back();
  vacant_.pop_back();
  return tree;
}

void TreeStore::give_back(std::span<BTree* const> trees) noexcept {
  {
    const std::lock_guard lock(mutex_);
    check(waiting_.size() + trees.size() <= waiting_.capacity(), "there is room for all trees");
    waiting_.insert(waiting_.end(), trees.begin(), trees.end());
  }
  wake_.notify_one();
}

void TreeStore::start() {
  stopping_ = false;
  thread_ = start_thread("that empties dropped tables", [this] { work(); });
}

void TreeStore::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  emptied_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::size_t TreeStore::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

BTree* TreeStore::first_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() ? nullptr : waiting_.front();
}

void TreeStore::emptied(BTree& tree) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &tree));
    vacant_.push_back(&tree);
  }
  emptied_.notify_one();
}

void TreeStore::put_last(BTree& tree) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = std::find(waiting_.begin(), waiting_.end(), &tree);
  std::rotate(at, at + 1, waiting_.end());
}

bool TreeStore::step() {
  BTree* const tree = first_waiting();
  if (tree == nullptr) {
    return false;
  }
  const bool any =
      remove_some(*tree) || settle_some(*tree) || purge_some(*tree) || merge_some(*tree);
  if (!any && is_empty(*tree)) {
    emptied(*tree);
    return true;
  }
  put_last(*tree);
  return any;
}

bool TreeStore::remove_some(BTree& tree) {
  const std::vector<std::string> keys = first_keys(tree);
  if (keys.empty()) {
    return false;
  }
  const txn::TransactionPtr transaction = transactions_.begin(txn::Durability::asynchronous);
  std::size_t removed = 0;
  for (const std::string& key : keys) {
    const btree::WriteOutcome outcome = transaction->remove(tree, key);
    if (outcome.conflict) {  // an old snapshot has seen it as it was
      break;
    }
    ++removed;
  }
  transaction->commit();
  return purge_some(tree) || removed != 0;
}

// What bulks have deleted is no record, and no ghost that can be purged before its leaf is settled;
// leaves of two epochs do not merge. Many leaves at a time: none of them has anything to be found.
bool TreeStore::settle_some(BTree& tree) {
  const auto leaves = [&] {
    return keys_of_leaves(
        tree, [](const btree::LeafView& leaf) { return leaf.bulk_epoch() != kNoEpoch; });
  };
  bool any = false;
  std::vector<std::string> keys = leaves();
  for (int times = 0; times < kSettledAtATime && !keys.empty(); ++times) {
    const txn::TransactionPtr transaction = transactions_.begin(txn::Durability::asynchronous);
    for (const std::string& key : keys) {
      transaction->write([&](const btree::WriteContext& by) {
        static_cast<void>(tree.settle(by, key));
        tree.purge_ghosts(by, key, [](const btree::LeafView&, btree::SlotIndex) { return true; });
      });
    }
    transaction->commit();
    std::vector<std::string> now = leaves();
    if (now == keys) {
      break;  // of a bulk that somebody does not see yet, or for lack of log space
    }
    any = true;
    keys = std::move(now);
  }
  return any;
}

// The records are gone, and no writer holds them: so the ghosts can go. False if none could, for
// lack of log space: they go when the tree is written to again.
bool TreeStore::purge_some(BTree& tree) {
  std::size_t purged = 0;
  const txn::TransactionPtr transaction = transactions_.begin(txn::Durability::asynchronous);
  for (const std::string& key :
       keys_of_leaves(tree, [](const btree::LeafView& leaf) { return leaf.ghost_count() != 0; })) {
    purged += transaction->write([&](const btree::WriteContext& by) {
      return tree.purge_ghosts(by, key,
                               [](const btree::LeafView&, btree::SlotIndex) { return true; });
    });
  }
  transaction->commit();
  return purged != 0;
}

// Of leaves that purging has left because their neighbours were full then.
bool TreeStore::merge_some(BTree& tree) {
  const std::vector<std::string> keys = keys_of_empty_leaves(tree);
  if (keys.empty()) {
    return false;
  }
  const txn::TransactionPtr transaction = transactions_.begin(txn::Durability::asynchronous);
  for (const std::string& key : keys) {
    transaction->write([&](const btree::WriteContext& by) { tree.merge_leaf(by, key); });
  }
  transaction->commit();
  return keys_of_empty_leaves(tree) != keys;
}

void TreeStore::work() {
  std::size_t in_vain = 0;  // steps on end
  while (wait_for_work(in_vain)) {
    in_vain = try_step() ? 0 : in_vain + 1;
  }
}

// False at the end of the work. Rests when all that waits has been tried in vain.
bool TreeStore::wait_for_work(std::size_t& in_vain) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  if (in_vain >= waiting_.size()) {
    wake_.wait_for(lock, kPauseAfterFailure, [this] { return stopping_; });
    in_vain = 0;
  }
  return !stopping_;
}

bool TreeStore::try_step() noexcept {
  try {
    return step();
  } catch (const std::exception&) {  // it waits, and whoever writes next hears why
    put_last(*first_waiting());
    return false;
  }
}

}  // namespace palimpsest::engine
