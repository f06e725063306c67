#include "bulk/bulk_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/start_thread.h"
#include "base/sync_point.h"
#include "btree/leaf_walk.h"
#include "btree/unreadable_leaf.h"

namespace palimpsest::bulk {
namespace {

using btree::BTree;

/// Leaves that one step looks at, and leaves that it resolves in one transaction.
constexpr std::size_t kLeavesLookedAt = 1024;
constexpr std::size_t kLeavesResolved = 64;
/// Pause before work that failed for lack of log space or of a slot is tried again, and before
/// bulks that some snapshot does not see yet are looked at again.
constexpr auto kPause = std::chrono::milliseconds(100);
/// The longest pause of a bulk that is held.
constexpr auto kPauseMax = std::chrono::minutes(5);

/// Leaves of a tree from a key on.
struct Leaves {
  std::vector<std::string> keys{};  ///< a key in each leaf that is to be resolved
  std::optional<std::string> next;  ///< where the walk continues; nothing: the tree has ended
};

/// If this throws, `leaves` has what it has found so far, and the leaf that covers `next` could not
/// be read.
void find_leaves(const BTree& tree, const BulkLedger::Left& left, Leaves& leaves) {
  btree::LeafWalk walk(tree.descent(), {.lower = *leaves.next, .upper = std::nullopt},
                       btree::Direction::forward);
  for (std::size_t looked_at = 0; walk.next(); ++looked_at) {
    const btree::LeafView leaf = walk.leaf();
    const ByteView fence = leaf.lower_fence();
    if (looked_at == kLeavesLookedAt || leaves.keys.size() == kLeavesResolved) {
      return;
    }
    const bool has_space = leaf.ghost_count() != 0 || leaf.shadow_count() != 0;
    if (leaf.bulk_epoch() == left.epoch && (left.is_aborted || has_space)) {
      leaves.keys.emplace_back(fence.empty() ? ByteView("\0", 1) : fence);
    }
    leaves.next =
        leaf.upper_is_infinite() ? std::nullopt : std::optional(std::string(leaf.upper_fence()));
  }
}

/// Errors of a page that cannot be read; the work on other pages goes on.
bool is_damage(const Error& error) noexcept {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::io_error;
}

}  // namespace

BulkSweep::~BulkSweep() {
  stop();
}

void BulkSweep::start() {
  stopping_ = false;
  thread_ = start_thread("that undoes bulks", [this] { work(); });
}

void BulkSweep::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void BulkSweep::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  wake_.notify_one();
}

std::size_t BulkSweep::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void BulkSweep::require_undone(TreeId tree) const {
  std::size_t held = 0;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [epoch, by] : held_) {
      if (by.trees.contains(tree) && held++ == 0) {
        why = by.why;
      }
    }
  }
  if (held >= kHeldMax) {
    throw Error(
        ErrorCode::corruption,
        fmt::format("{}: {} bulks that were rolled back cannot be undone here, so no further bulk "
                    "can begin; copy the readable rows, then drop the table or index: {}",
                    owners_ == nullptr ? "a tree" : owners_->owner_of(tree), held, why));
  }
}

// Tries each due bulk once, oldest first, so that a held bulk does not delay the rest.
bool BulkSweep::step() {
  epochs_.retire(transactions_.horizon());
  end_holds_by_trees_given_back();
  BulkEpoch last = kNoEpoch;
  for (;;) {
    const auto now = SteadyClock::now();
    const auto is_due = [&](BulkEpoch epoch) {
      const auto course = courses_.find(epoch);
      return epoch > last && (course == courses_.end() || course->second.due <= now);
    };
    const auto left = ledger_.first_left(is_due);
    if (!left) {
      return false;
    }
    if (sweep(*left, courses_[left->epoch])) {
      return true;
    }
    last = left->epoch;
  }
}

void BulkSweep::end_holds_by_trees_given_back() {
  for (auto& [epoch, course] : courses_) {
    const std::set<TreeId>& trees = course.passed.trees;
    if (!trees.empty() && course.due > SteadyClock::now() &&
        std::ranges::none_of(trees, [&](TreeId tree) { return is_owned(tree); })) {
      course.due = SteadyClock::now();
    }
  }
}

/// False: no progress; the course is held.
bool BulkSweep::sweep(const BulkLedger::Left& left, Course& course) {
  if (course.due != SteadyClock::time_point()) {  // due again after a pause
    course.due = {};
    if (course.tree == left.trees.size() && !course.passed.trees.empty()) {
      course.tree = 0;
      course.passed = {};
    }
  }
  try {
    if (course.tree == left.trees.size()) {
      end(left, course);
    } else {
      sweep_some(left, course);
      course.has_failed = false;
    }
  } catch (const std::exception& error) {  // the next writer meets the same error
    course.due = SteadyClock::now() + kPause;
    tell_failed(left, course, error.what());
  }
  return !courses_.contains(left.epoch) || course.due == SteadyClock::time_point();
}

void BulkSweep::sweep_some(const BulkLedger::Left& left, Course& course) {
  const TreeId id = left.trees[course.tree];
  if (course.from.empty() && !is_owned(id)) {
    ++course.tree;
    return;
  }
  Leaves leaves{.keys = {}, .next = course.from};
  BTree* tree = nullptr;
  std::optional<Error> damage;
  try {
    tree = &trees_.tree(id);
    find_leaves(*tree, left, leaves);
  } catch (const Error& error) {
    if (!is_damage(error)) {
      throw;
    }
    damage = error;
  }
  if (!leaves.keys.empty()) {
    if (resolve(*tree, leaves.keys, course) || course.due != SteadyClock::time_point()) {
      return;  // and looks at these leaves again
    }
  } else if (damage) {
    pass(id, *damage, course);
    leaves.next =
        tree == nullptr ? std::nullopt : btree::key_behind_leaf(tree->descent(), *leaves.next);
  }
  course.tree += leaves.next ? 0U : 1U;
  course.from = leaves.next.value_or(std::string());
}

/// Returns whether each leaf was resolved. Passes damaged leaves; for lack of log space the course
/// is held.
bool BulkSweep::resolve(BTree& tree, const std::vector<std::string>& keys, Course& course) {
  const txn::TransactionPtr by = transactions_.begin(txn::Durability::asynchronous);
  bool has_space = true;
  bool all = true;
  for (const std::string& key : keys) {
    try {
      has_space = by->write([&](const btree::WriteContext& context) {
        const bool is_retired = tree.resolve(context, key);
        tree.purge_ghosts(context, key,
                          [](const btree::LeafView&, btree::SlotIndex) { return true; });
        return is_retired;
      }) && has_space;
    } catch (const Error& error) {
      if (!is_damage(error)) {
        throw;
      }
      pass(tree.id(), error, course);
      all = false;
    }
  }
  by->commit();
  if (!has_space) {
    course.due = SteadyClock::now() + kPause;
  }
  return all && has_space;
}

void BulkSweep::pass(TreeId tree, const Error& error, Course& course) {
  if (course.passed.trees.empty()) {
    course.passed.why = error.what();
  }
  course.passed.trees.insert(tree);
}

// For a committed bulk, nothing has to be undone.
void BulkSweep::end(const BulkLedger::Left& left, Course& course) {
  PALIMPSEST_SYNC_POINT("engine.bulk.swept");
  if (left.is_aborted && !course.passed.trees.empty()) {
    hold(left, course);
    return;
  }
  ledger_.forget(left);
  if (course.is_told) {
    log_to(options_.log, LogLevel::info, component::kBulk,
           "what a bulk that was rolled back had left is undone now", {{"bulk", raw(left.epoch)}});
  }
  {
    const std::lock_guard lock(mutex_);
    held_.erase(left.epoch);
  }
  courses_.erase(left.epoch);
}

void BulkSweep::hold(const BulkLedger::Left& left, Course& course) {
  PALIMPSEST_SYNC_POINT("engine.bulk.held");
  course.pause = course.is_told ? std::min<std::chrono::milliseconds>(2 * course.pause, kPauseMax)
                                : options_.pause;
  course.due = SteadyClock::now() + course.pause;
  {
    const std::lock_guard lock(mutex_);
    held_[left.epoch] = course.passed;
  }
  if (!course.is_told) {
    course.is_told = true;
    tell(left);
  }
}

/// Once, until a step succeeds.
void BulkSweep::tell_failed(const BulkLedger::Left& left, Course& course,
                            std::string_view cause) const noexcept {
  if (!std::exchange(course.has_failed, true)) {
    log_to(options_.log, LogLevel::warning, component::kBulk,
           "sweeping after a bulk failed; it is tried again",
           {{"bulk", raw(left.epoch)}, {"is_aborted", left.is_aborted}, {"cause", cause}});
  }
}

void BulkSweep::tell(const BulkLedger::Left& left) const {
  const Held& held = courses_.at(left.epoch).passed;
  if (options_.log == nullptr) {
    return;
  }
  std::string where;
  for (const TreeId tree : held.trees) {
    where += where.empty() ? "" : ", ";
    where += owners_ == nullptr ? fmt::format("tree {}", raw(tree)) : owners_->owner_of(tree);
  }
  log_to(options_.log, LogLevel::warning, component::kBulk,
         "the changes of a rolled-back bulk cannot be undone on all pages; all other pages are "
         "undone, and other tables are not affected; the engine tries again until the page can be "
         "read or the table is dropped",
         {{"tables", where}, {"bulk", raw(left.epoch)}, {"cause", held.why}});
}

// Work that failed is tried again. That an epoch was retired does not mean that nothing is left of
// its bulk, so the ledger is asked as well.
void BulkSweep::work() {
  for (;;) {
    const bool done = try_step();
    PALIMPSEST_SYNC_POINT("engine.bulk.sweep_tried");
    const bool is_idle = epochs_.is_empty() && ledger_.is_empty();  // the end of a bulk wakes
    const auto pause = pause_until_due();
    std::unique_lock lock(mutex_);
    if (!done && is_idle) {
      wake_.wait(lock, [this] { return stopping_ || is_woken_; });
    } else if (!done) {
      wake_.wait_for(lock, pause, [this] { return stopping_ || is_woken_; });
    }
    is_woken_ = false;
    if (stopping_) {
      return;
    }
  }
}

/// The time until a held bulk is due; at most kPause if some snapshot may not see a bulk yet.
std::chrono::milliseconds BulkSweep::pause_until_due() const {
  if (ledger_.has_unretired() || courses_.empty()) {
    return kPause;
  }
  const auto now = SteadyClock::now();
  auto first = now + kPauseMax;
  for (const auto& [epoch, course] : courses_) {
    first = std::min(first, course.due);
  }
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(first - now),
                  std::chrono::milliseconds(1));
}

bool BulkSweep::try_step() noexcept {
  try {
    return step();
  } catch (const std::exception&) {  // the next writer meets the same error
    return false;
  }
}

}  // namespace palimpsest::bulk
