#include "engine/reclaimable_space.h"

#include <algorithm>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/btree.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Rounds through everything are repeated at once up to this length; after longer ones there is a
/// pause.
constexpr auto kShortRound = std::chrono::milliseconds(10);
/// Pages that a round looks for at least: whoever wants some will want more.
constexpr std::uint64_t kPagesMin = 256;
/// How long who waits for a round sleeps before it looks whether it is to end.
constexpr auto kLookPause = std::chrono::milliseconds(10);

/// True: it has what it wants. What cannot be read is for whoever needs it to report, not the
/// caller's.
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

// What is given up goes first: who waited for a round finds its pages, or does the next one.
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
  if (by.pruner != nullptr) {
    by.pruner->begin();  // who was in the way when it looked before may have gone
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

/// All, the one in which the last round has stopped first, and again at the end: its beginning.
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
