#include "engine/reclaimable_space.h"

#include <algorithm>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/btree.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Rounds through everything up to this length are repeated at once; longer ones are followed by a
/// pause.
constexpr auto kShortRound = std::chrono::milliseconds(10);
/// Minimum number of pages that a round looks for: a caller that needs some will need more.
constexpr std::uint64_t kPagesMin = 256;
/// How long a thread that waits for a round sleeps before it checks whether its transaction was
/// cancelled.
constexpr auto kLookPause = std::chrono::milliseconds(10);

/// True: the walk has found what it wants. Damaged pages are not this caller's error; the next
/// reader reports them.
bool purge(btree::BTree& tree, const btree::WriteContext& by, btree::GhostWalk& walk) {
  try {
    return tree.purge_ghosts(by, walk);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corruption && error.code() != ErrorCode::io_error) {
      throw;
    }
  }
  return walk.pages >= walk.pages_wanted;
}

}  // namespace

// Deferred frees come first. A caller that waited for another's round succeeds if that found pages,
// else does the next round.
bool ReclaimableSpace::reclaim(const btree::WriteContext& by, std::uint64_t pages) {
  if (tables_ == nullptr) {
    return false;
  }
  const std::uint64_t found_before = found_.load();
  std::unique_lock round(round_, std::defer_lock);
  while (!round.try_lock_for(kLookPause)) {
    PALIMPSEST_SYNC_POINT("engine.reclaimable_space.awaited");
    by.require_not_cancelled();
  }
  if (found_.load() != found_before) {
    return true;
  }
  const bool freed = transactions_->free_deferred();
  const bool purged = purge_tables(by, std::max(pages, kPagesMin));
  tables_->give_back_replaced();
  const bool found = freed || purged || trees_->await_steps([&] { by.require_not_cancelled(); });
  if (found) {
    found_.fetch_add(1);
  }
  return found;
}

std::string ReclaimableSpace::held_back() const {
  return tables_ == nullptr ? std::string() : tables_->held_back();
}

bool ReclaimableSpace::purge_tables(const btree::WriteContext& by, std::uint64_t pages) {
  const auto begin = SteadyClock::now();
  if (is_resting() && begin < not_before_) {
    return false;
  }
  rest();  // removals from now on count
  if (by.pruner() != nullptr) {
    by.pruner()->begin();  // a transaction that blocked the last pruning may have ended
  }
  transactions_->retire_bulks();
  btree::GhostWalk walk{.pages_wanted = pages};
  std::string from = last_key_;
  for (btree::BTree* const tree : trees_from_last()) {
    walk.next = tree->id() == last_tree_ ? std::exchange(from, {}) : std::string();
    if (purge(*tree, by, walk)) {
      last_tree_ = tree->id();
      last_key_ = std::move(walk.next);
      not_before_ = {};
      return true;
    }
  }
  const auto end = SteadyClock::now();
  not_before_ = end - begin > kShortRound ? end + (end - begin) : SteadyClock::time_point();
  return walk.pages != 0;
}

/// All trees: first the one in which the last round stopped, which is repeated at the end for its
/// beginning.
std::vector<btree::BTree*> ReclaimableSpace::trees_from_last() const {
  std::vector<btree::BTree*> trees;
  for (const TablePtr& table : tables_->all()) {
    if (const DefinitionPtr definition = table->keep_visible_to(nullptr)) {
      trees.push_back(definition->rows);
      trees.insert(trees.end(), definition->indexes.begin(), definition->indexes.end());
    }
  }
  const auto last = std::ranges::find(trees, last_tree_, &btree::BTree::id);
  if (last != trees.end()) {
    std::ranges::rotate(trees, last);
    trees.push_back(trees.front());
  }
  return trees;
}

}  // namespace palimpsest::engine
