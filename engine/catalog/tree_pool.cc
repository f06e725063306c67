#include "engine/catalog/tree_pool.h"

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
/// Rounds of that many leaves that one step resolves.
constexpr int kResolvedAtATime = 64;
/// Pause before a tree that could not be emptied is tried again.
constexpr auto kPauseAfterFailure = std::chrono::seconds(1);
/// Steps after which a tree gives way to the next one.
constexpr int kStepsInTurn = 64;
/// Trees that may wait to be emptied while new ones are made.
constexpr std::size_t kWaitingMax = 32;
/// How long a caller waits for a tree that there is no room for, while trees are being emptied.
constexpr auto kRoomPatience = std::chrono::seconds(10);
/// Steps that a caller waits for if it needs space.
constexpr std::uint64_t kStepsAwaited = 64;
/// Pause before the source is asked again for trees that readers still use.
constexpr auto kAskPause = std::chrono::milliseconds(100);

/// The number of a tree of this pool; nothing for other names.
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

/// Whether the root is the only node, and is empty.
bool is_empty(const BTree& tree) {
  btree::LeafWalk walk(tree.descent(), {.lower = {}, .upper = std::nullopt},
                       btree::Direction::forward);
  return tree.descent().root_level() == 0 && walk.next() && walk.leaf().count() == 0;
}

/// As is_empty(); nothing if the root cannot be read.
std::optional<bool> is_empty_if_readable(const BTree& tree) {
  try {
    return is_empty(tree);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corruption && error.code() != ErrorCode::io_error) {
      throw;
    }
    return std::nullopt;
  }
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

TreePool::~TreePool() {
  stop();
}

bool TreePool::is_name(std::string_view name) noexcept {
  return number_of(name).has_value();
}

void TreePool::open(const std::set<TreeId>& used, TreeSource* source) {
  const std::lock_guard lock(mutex_);
  source_ = source;
  for (const txn::TreeCatalog::Entry& entry : catalog_.entries()) {
    const auto number = number_of(entry.name);
    if (!number) {
      continue;
    }
    ++trees_;
    next_number_ = std::max(next_number_, *number + 1);
    if (used.contains(entry.id)) {
      continue;
    }
    if (!catalog_.has_room()) {
      closed_.push_back(entry.id);
      report_closed(entry.id, "memory has no room for its root");
      continue;
    }
    BTree& tree = catalog_.tree(entry.id);
    const std::optional<bool> empty = is_empty_if_readable(tree);
    if (!empty) {
      closed_.push_back(entry.id);
      report_closed(entry.id, "a page of it cannot be read");
    } else {
      *empty ? vacant_.push_back(&tree) : waiting_.push_back({.tree = &tree});
    }
  }
  vacant_.reserve(trees_);
  waiting_.reserve(trees_);
  closed_.reserve(trees_);
}

BTree& TreePool::take(const txn::Transaction& inside) {
  if (source_ != nullptr) {
    source_->give_back_replaced();
  }
  if (BTree* const tree = take_vacant()) {
    return *tree;
  }
  catalog_.require_room();
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    ++trees_;  // counted even if making it fails
    vacant_.reserve(trees_);
    waiting_.reserve(trees_);
    closed_.reserve(trees_);
    name = fmt::format("{}{}", kTreeNamePrefix, next_number_++);
  }
  BTree* const made = catalog_.make(transactions_, name, &inside);
  check(made != nullptr, "a new tree has a new name");
  return *made;
}

BTree* TreePool::take_vacant() {
  const bool has_room = catalog_.has_room();
  std::unique_lock lock(mutex_);
  const std::size_t waiting_max = has_room ? kWaitingMax : 1;
  if (vacant_.empty() && thread_.joinable() && waiting_.size() >= waiting_max) {
    await_vacant(lock, has_room);
  }
  if (vacant_.empty()) {
    return nullptr;
  }
  BTree* const tree = vacant_.back();
  vacant_.pop_back();
  return tree;
}

// Another caller may take the tree first.
void TreePool::await_vacant(std::unique_lock<std::mutex>& lock, bool has_room) {
  const auto until = std::chrono::steady_clock::now() + kRoomPatience;
  std::uint64_t before = 0;
  do {
    before = steps_;
    const auto is_over = [this] { return !vacant_.empty() || stopping_; };
    if (emptied_.wait_for(lock, patience_, is_over)) {
      return;
    }
  } while (!has_room && steps_ != before && std::chrono::steady_clock::now() < until);
}

void TreePool::give_back(std::span<BTree* const> trees) noexcept {
  {
    const std::lock_guard lock(mutex_);
    check(waiting_.size() + trees.size() <= waiting_.capacity(), "there is room for all trees");
    for (BTree* const tree : trees) {
      waiting_.push_back({.tree = tree});
    }
  }
  wake_.notify_one();
}

void TreePool::expect_some() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!expects_some_) {
      expects_some_ = true;
      ask_at_ = std::chrono::steady_clock::now() + kAskPause;
    }
  }
  wake_.notify_one();
}

void TreePool::start() {
  stopping_ = false;
  thread_ = start_thread("that empties dropped tables", [this] { work(); });
}

void TreePool::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  emptied_.notify_all();
  stepped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool TreePool::is_given_out(TreeId tree) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(closed_, tree) == closed_.end() &&
         std::ranges::find(vacant_, tree, &BTree::id) == vacant_.end() &&
         std::ranges::none_of(waiting_, [&](const Waiting& one) { return one.tree->id() == tree; });
}

std::size_t TreePool::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void TreePool::emptied(BTree& tree) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(std::ranges::find(waiting_, &tree, &Waiting::tree));
    vacant_.push_back(&tree);
    ++emptied_count_;
  }
  emptied_.notify_one();
}

// The tree goes to the end of the queue if it could not be emptied, or has had its turn.
void TreePool::note(BTree& tree, bool any) noexcept {
  const std::lock_guard lock(mutex_);
  if (any) {
    ++steps_;
    stepped_.notify_all();
  }
  const auto at = std::ranges::find(waiting_, &tree, &Waiting::tree);
  if (at == waiting_.end() || (any && ++at->steps < kStepsInTurn)) {
    return;
  }
  at->steps = 0;
  at->due = any ? at->due : std::chrono::steady_clock::now() + kPauseAfterFailure;
  std::rotate(at, at + 1, waiting_.end());
}

bool TreePool::await_steps(FunctionRef<void()> require_not_over) {
  std::unique_lock lock(mutex_);
  const std::uint64_t first = steps_;
  const std::uint64_t emptied = emptied_count_;
  std::uint64_t before = 0;
  do {
    require_not_over();
    before = steps_;
    if (thread_.joinable() && !waiting_.empty()) {
      stepped_.wait_for(lock, patience_, [&] { return steps_ != before || stopping_; });
    }
  } while (steps_ != before && emptied_count_ == emptied && steps_ - first < kStepsAwaited);
  return steps_ != first;
}

bool TreePool::step() {
  if (source_ != nullptr) {
    source_->give_back_replaced();
  }
  BTree* first = nullptr;
  {
    const std::lock_guard lock(mutex_);
    first = waiting_.empty() ? nullptr : waiting_.front().tree;
  }
  return first != nullptr && step(*first);
}

bool TreePool::step(BTree& tree) {
  const bool any = empty_some(tree);
  note(tree, any);
  return any;
}

bool TreePool::empty_some(BTree& tree) {
  const Removed removed = remove_some(tree);
  if (removed != Removed::none) {
    return removed == Removed::some;
  }
  if (resolve_some(tree) || purge_some(tree) || merge_some(tree)) {
    return true;
  }
  if (!is_empty(tree)) {
    return false;
  }
  emptied(tree);
  return true;
}

// Everything in the tree may be purged, whatever older snapshots saw: it belongs to no table.
txn::TransactionPtr TreePool::begin_emptying() {
  txn::TransactionPtr by = transactions_.begin(txn::Durability::asynchronous);
  by->write([](const btree::WriteContext& context) {
    if (context.pruner() != nullptr) {
      context.pruner()->begin_unseen();
    }
    return true;
  });
  return by;
}

// Returns `held` if the records are claimed by a writer that has not ended, or have versions that
// are being collected.
TreePool::Removed TreePool::remove_some(BTree& tree) {
  const std::vector<std::string> keys = first_keys(tree);
  if (keys.empty()) {
    return Removed::none;
  }
  const txn::TransactionPtr transaction = begin_emptying();
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
  // Not purge_some(): looking for ghosts in all leaves would visit each leaf in each step.
  static_cast<void>(purge_leaves_of(tree, std::span(keys).first(removed)));
  return Removed::some;
}

/// Purges the leaves of these keys; returns the number of ghosts purged.
std::size_t TreePool::purge_leaves_of(BTree& tree, std::span<const std::string> keys) {
  std::size_t purged = 0;
  const txn::TransactionPtr transaction = begin_emptying();
  for (const std::string& key : keys) {
    purged += transaction->write([&](const btree::WriteContext& by) {
      return tree.purge_ghosts(by, key,
                               [](const btree::LeafView&, btree::SlotIndex) { return true; });
    });
  }
  transaction->commit();
  return purged;
}

// Records deleted by bulks are neither records nor ghosts that can be purged, until their leaf is
// resolved; and leaves of two epochs do not merge. Resolves many leaves at a time, as none has
// anything else to do.
bool TreePool::resolve_some(BTree& tree) {
  const auto leaves = [&] {
    return keys_of_leaves(
        tree, [](const btree::LeafView& leaf) { return leaf.bulk_epoch() != kNoEpoch; });
  };
  bool any = false;
  std::vector<std::string> keys = leaves();
  for (int times = 0; times < kResolvedAtATime && !keys.empty(); ++times) {
    const txn::TransactionPtr transaction = begin_emptying();
    for (const std::string& key : keys) {
      transaction->write([&](const btree::WriteContext& by) {
        static_cast<void>(tree.resolve(by, key));
        tree.purge_ghosts(by, key, [](const btree::LeafView&, btree::SlotIndex) { return true; });
      });
    }
    transaction->commit();
    std::vector<std::string> now = leaves();
    if (now == keys) {
      break;  // some snapshot does not see the bulk yet, or there is no log space
    }
    any = true;
    keys = std::move(now);
  }
  return any;
}

// The records are removed, and no writer claims them: so the ghosts can be purged. False if none
// could be, for lack of log space: they go when the tree is written to again.
bool TreePool::purge_some(BTree& tree) {
  return purge_leaves_of(tree, keys_of_leaves(tree, [](const btree::LeafView& leaf) {
                           return leaf.ghost_count() != 0;
                         })) != 0;
}

// Merges empty leaves that purging has left because their neighbours were full then.
bool TreePool::merge_some(BTree& tree) {
  const std::vector<std::string> keys = keys_of_empty_leaves(tree);
  if (keys.empty()) {
    return false;
  }
  const txn::TransactionPtr transaction = begin_emptying();
  for (const std::string& key : keys) {
    transaction->write(
        [&](const btree::WriteContext& by) { tree.structure().merge_leaf(by, key); });
  }
  transaction->commit();
  return keys_of_empty_leaves(tree) != keys;
}

void TreePool::work() {
  while (BTree* const tree = next_due()) {
    try_step(*tree);
  }
}

// Waits for a tree that is due; null at the end of the work.
BTree* TreePool::next_due() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (waiting_.empty() && !expects_some_) {
      wake_.wait(lock);
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (expects_some_ && ask_at_ <= now) {
      ask_source(lock);
      continue;
    }
    const auto first =
        std::ranges::find_if(waiting_, [&](const Waiting& one) { return one.due <= now; });
    if (first != waiting_.end()) {
      return first->tree;
    }
    auto next = expects_some_ ? ask_at_ : now + kPauseAfterFailure;
    for (const Waiting& one : waiting_) {
      next = std::min(next, one.due);
    }
    wake_.wait_until(lock, next);
  }
  return nullptr;
}

void TreePool::ask_source(std::unique_lock<std::mutex>& lock) {
  expects_some_ = false;  // set again by a caller that leaves some meanwhile
  lock.unlock();
  const bool are_left = source_->give_back_replaced();
  lock.lock();
  expects_some_ = expects_some_ || are_left;
  ask_at_ = std::chrono::steady_clock::now() + kAskPause;
}

void TreePool::try_step(BTree& tree) noexcept {
  try {
    step(tree);
  } catch (const Error& error) {  // the tree waits; the next writer meets the same error
    error.code() == ErrorCode::corruption ? set_aside(tree, error.what()) : note(tree, false);
  } catch (const std::exception&) {
    note(tree, false);
  }
}

// What lies behind a damaged page cannot be reached by trying again.
void TreePool::set_aside(BTree& tree, const char* cause) noexcept {
  {
    const std::lock_guard lock(mutex_);
    waiting_.erase(std::ranges::find(waiting_, &tree, &Waiting::tree));
    closed_.push_back(tree.id());
  }
  emptied_.notify_all();
  report_closed(tree.id(), cause);
}

void TreePool::report_closed(TreeId tree, std::string_view cause) const noexcept {
  log_to(log_, LogLevel::warning, component::kTables,
         "the tree of a dropped table or index is set aside: its pages stay in use, and the next "
         "opening tries again",
         {{"tree", std::uint64_t{raw(tree)}}, {"cause", cause}});
}

}  // namespace palimpsest::engine
