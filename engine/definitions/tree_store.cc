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
/// Steps after which a tree lets the others have their turn.
constexpr int kStepsInTurn = 64;
/// Trees that may wait to be emptied while others are made.
constexpr std::size_t kWaitingMax = 32;
/// How long somebody waits who needs a tree then. Some can only be emptied later, perhaps for his
/// own sake; otherwise an empty one is a matter of some steps.
constexpr auto kPatience = std::chrono::milliseconds(100);

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
  for (const Catalog::Entry& entry : catalog_.entries()) {
    if (const auto number = number_of(entry.name)) {
      const std::lock_guard lock(mutex_);
      ++trees_;
      next_number_ = std::max(next_number_, *number + 1);
      if (!used.contains(entry.id)) {
        closed_.push_back(entry.id);
      }
    }
  }
  {
    const std::lock_guard lock(mutex_);
    vacant_.reserve(trees_);
    waiting_.reserve(trees_);
  }
  while (open_closed()) {
  }
}

// False if none is closed, or memory has no room for it.
bool TreeStore::open_closed() {
  TreeId id{};
  if (!catalog_.has_room()) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_.empty()) {
      return false;
    }
    id = closed_.back();
    closed_.pop_back();
  }
  BTree& tree = catalog_.tree(id);
  const bool vacant = is_empty(tree);
  const std::lock_guard lock(mutex_);
  (vacant ? vacant_ : waiting_).push_back(&tree);
  return true;
}

BTree& TreeStore::take(const txn::Transaction& inside) {
  BTree* tree = take_vacant();
  if (tree == nullptr && open_closed()) {
    wake_.notify_one();
    tree = take_vacant();
  }
  if (tree != nullptr) {
    return *tree;
  }
  catalog_.require_room();
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    ++trees_;  // whether or not it comes to be
    vacant_.reserve(trees_);
    waiting_.reserve(trees_);
    name = fmt::format("{}{}", kTreeNamePrefix, next_number_++);
  }
  BTree* const made = catalog_.make(transactions_, name, &inside);
  check(made != nullptr, "names of new trees are new");
  return *made;
}

BTree* TreeStore::take_vacant() {
  const std::size_t waiting_max = catalog_.has_room() ? kWaitingMax : 1;
  std::unique_lock lock(mutex_);
  const bool in_background = thread_.joinable();
  if (vacant_.empty() && in_background && waiting_.size() >= waiting_max) {
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
    steps_in_vain_ = 0;
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
    steps_in_turn_ = 0;
  }
  emptied_.notify_one();
}

// The first that waits lets the others have their turn if it cannot be emptied, or has had its own.
void TreeStore::note(bool any) noexcept {
  const std::lock_guard lock(mutex_);
  steps_in_vain_ = any ? 0 : steps_in_vain_ + 1;
  if (waiting_.empty() || (any && ++steps_in_turn_ < kStepsInTurn)) {
    return;
  }
  std::rotate(waiting_.begin(), waiting_.begin() + 1, waiting_.end());
  steps_in_turn_ = 0;
}

bool TreeStore::step() {
  BTree* const tree = first_waiting();
  if (tree == nullptr) {
    return false;
  }
  const bool any = empty_some(*tree);
  note(any);
  return any;
}

bool TreeStore::empty_some(BTree& tree) {
  const Removed removed = remove_some(tree);
  if (removed != Removed::none) {
    return removed == Removed::some;
  }
  if (settle_some(tree) || purge_some(tree) || merge_some(tree)) {
    return true;
  }
  if (!is_empty(tree)) {
    return false;
  }
  emptied(tree);
  return true;
}

// Held: by an old snapshot, which has seen the first record as it was.
TreeStore::Removed TreeStore::remove_some(BTree& tree) {
  const std::vector<std::string> keys = first_keys(tree);
  if (keys.empty()) {
    return Removed::none;
  }
  const txn::TransactionPtr transaction = transactions_.begin(txn::Durability::asynchronous);
  std::size_t removed = 0;
  for (const std::string& key : keys) {
    const btree::WriteOutcome outcome = transaction->remove(tree, key);
    if (outcome.conflict) {
      break;
    }
    ++removed;
  }
  transaction->commit();
  if (removed == 0) {
    return Removed::held;
  }
  static_cast<void>(purge_some(tree));
  return Removed::some;
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
  while (wait_for_work()) {
    try_step();
  }
}

// False at the end of the work. Rests when all that waits has been tried in vain.
bool TreeStore::wait_for_work() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  if (steps_in_vain_ >= waiting_.size()) {
    wake_.wait_for(lock, kPauseAfterFailure,
                   [this] { return stopping_ || steps_in_vain_ < waiting_.size(); });
    steps_in_vain_ = 0;
  }
  return !stopping_;
}

void TreeStore::try_step() noexcept {
  try {
    step();
  } catch (const std::exception&) {  // it waits, and whoever writes next hears why
    note(false);
  }
}

}  // namespace palimpsest::engine
