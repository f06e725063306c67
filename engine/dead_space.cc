#include "engine/dead_space.h"

#include <cstddef>

#include "btree/btree.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Rounds are repeated at once up to this length; after longer ones there is a pause.
constexpr auto kShortRound = std::chrono::milliseconds(100);
constexpr int kPauseInRounds = 10;

}  // namespace

// What is given up goes first: who waited for a round finds its pages, or does the next one.
bool DeadSpace::reclaim(const btree::WriteContext& by) {
  if (tables_ == nullptr) {
    return false;
  }
  const std::uint64_t found_before = found_.load();
  const std::lock_guard round(round_);
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
  std::size_t purged = 0;
  for (const TablePtr& table : tables_->all()) {
    if (const TableDefinition* const definition = table->visible_to(nullptr)) {
      purged += definition->rows->purge_all_ghosts(by);
      for (btree::BTree* const index : definition->indexes) {
        purged += index->purge_all_ghosts(by);
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
