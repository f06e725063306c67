#include "engine/epochs/bulk_sweep.h"

#include <chrono>
#include <exception>
#include <optional>
#include <vector>

#include "base/start_thread.h"
#include "base/sync_point.h"
#include "btree/leaf_walk.h"

namespace palimpsest::engine {
namespace {

using btree::BTree;

/// Leaves that one step looks at, and settles in one transaction.
constexpr std::size_t kLeavesLookedAt = 1024;
constexpr std::size_t kLeavesSettled = 64;
/// Before what could not be done is tried again, and before bulks that somebody does not see yet
/// are looked at again.
constexpr auto kPause = std::chrono::milliseconds(100);

/// Leaves of a tree from a key on.
struct Leaves {
  std::vector<std::string> keys;    ///< one in each that is to be settled
  std::optional<std::string> next;  ///< where it goes on; nothing: that was all
};

Leaves leaves_of(const BTree& tree, const BulkLedger::Left& left, const std::string& from) {
  Leaves leaves;
  btree::LeafWalk walk(tree.descent(), {.lower = from, .upper = std::nullopt},
                       btree::Direction::forward);
  for (std::size_t looked_at = 0; walk.next(); ++looked_at) {
    const btree::LeafView leaf = walk.leaf();
    const ByteView fence = leaf.lower_fence();
    if (looked_at == kLeavesLookedAt || leaves.keys.size() == kLeavesSettled) {
      leaves.next = fence;
      break;
    }
    const bool has_space = leaf.ghost_count() != 0 || leaf.shadow_count() != 0;
    if (leaf.bulk_epoch() == left.epoch && (left.is_aborted || has_space)) {
      leaves.keys.emplace_back(fence.empty() ? ByteView("\0", 1) : fence);
    }
  }
  return leaves;
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

bool BulkSweep::step() {
  epochs_.settle(transactions_.horizon());
  const auto left = ledger_.first_left();
  return left && sweep(*left);
}

bool BulkSweep::sweep(const BulkLedger::Left& left) {
  if (sweeping_ != left.epoch) {
    sweeping_ = left.epoch;
    tree_ = 0;
    from_.clear();
  }
  if (tree_ == left.trees.size()) {
    PALIMPSEST_SYNC_POINT("engine.bulk.swept");
    ledger_.forget(left);
    sweeping_ = kNoEpoch;
    return true;
  }
  BTree& tree = trees_.tree(left.trees[tree_]);
  const Leaves leaves = leaves_of(tree, left, from_);
  if (!leaves.keys.empty()) {
    return settle(tree, leaves.keys);
  }
  if (leaves.next) {
    from_ = *leaves.next;
  } else {
    ++tree_;
    from_.clear();
  }
  return true;
}

// False for lack of log space.
bool BulkSweep::settle(BTree& tree, const std::vector<std::string>& keys) {
  const txn::TransactionPtr by = transactions_.begin(txn::Durability::asynchronous);
  bool all = true;
  for (const std::string& key : keys) {
    all = by->write([&](const btree::WriteContext& context) {
      const bool is_settled = tree.settle(context, key);
      tree.purge_ghosts(context, key,
                        [](const btree::LeafView&, btree::SlotIndex) { return true; });
      return is_settled;
    }) && all;
  }
  by->commit();
  return all;
}

// What could not be done is tried again. An epoch that has gone says nothing: what its bulk has
// left may still be there.
void BulkSweep::work() {
  for (;;) {
    const bool done = try_step();
    PALIMPSEST_SYNC_POINT("engine.bulk.sweep_tried");
    const bool is_idle = epochs_.is_empty() && ledger_.is_empty();  // whoever ends a bulk wakes
    std::unique_lock lock(mutex_);
    if (!done && is_idle) {
      wake_.wait(lock, [this] { return stopping_ || is_woken_; });
    } else if (!done) {
      wake_.wait_for(lock, kPause, [this] { return stopping_ || is_woken_; });
    }
    is_woken_ = false;
    if (stopping_) {
      return;
    }
  }
}

bool BulkSweep::try_step() noexcept {
  try {
    return step();
  } catch (const std::exception&) {  // whoever writes next hears why
    return false;
  }
}

}  // namespace palimpsest::engine
