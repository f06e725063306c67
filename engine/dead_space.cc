#include "engine/dead_space.h"

#include <cstddef>

#include "palimpsest/error.h"

#include "btree/btree.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Rounds are repeated at once up to this length; after longer ones there is a pause.
constexpr auto kShortRound = std::chrono::milliseconds(100);
constexpr int kPauseInRounds = 10;
/// How long who waits for a round sleeps before it looks whether it is to end.
constexpr auto kLookPause = std::chrono::milliseconds(10);

/// What cannot be read is for whoever needs it to report: it is not the caller's.
void purge(btree::BTree& tree, const btree::WriteContext& by, std::size_t& purged) {
  try {
    tree.purge_all_ghosts(by, purged);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corruption && error.code() != ErrorCode::io_error) {
      throw;
    }
  }
}

}  // namespace

// What is given up goes first: who waited for a round finds its pages, or does the next one.
bool DeadSpace::reclaim(const btree::WriteContext& by) {
  if (tables_ == nullptr) {
    return false;
  }
  const std::uint64_t found_before = found_.load();
  std::unique_lock round(round_, std::defer_lock);
  while (!round.try_lock_for(kLookPause)) {
    by.require_not_cancelled();
  }
  if (found_.load() != found_before) {
    return true;
  }
  const bool freed = transactions_->free_given_up();
  const bool purged = purge_tables(by);
  const bool found = freed || purged || trees_->await_step();
  if (found) {
    found_.fetch_add(1);
  }
  return found;
}

bool DeadSpace::purge_tables(const btree::WriteContext& by) {
  const auto begin = SteadyClock::now();
  if (begin < not_before_) {
    return false;
  }
  if (by.pruner != nullptr) {
    by.pruner->begin();  // who was in the way when it looked before may have gone
  }
  transactions_->settle_bulks();
  std::size_t purged = 0;
  for (const TablePtr& table : tables_->all()) {
    if (const TableDefinition* const definition = table->visible_to(nullptr)) {
      purge(*definition->rows, by, purged);
      for (btree::BTree* const index : definition->indexes) {
        purge(*index, by, purged);
      }
    }
  }
  const auto end = SteadyClock::now();
  if (purged == 0 && end - begin > kShortRound) {
    not_before_ = end + kPauseInRounds * (end - begin);
  }
  return purged != 0;
}

}  // namespace palimpsest::engine
