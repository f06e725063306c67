#include "engine/table/table_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

namespace palimpsest::engine {
namespace {

using Scan = versioning::Snapshots::Scan;

/// Ends the indexes of one definition that another one does not have; begin_indexes(): makes them
/// visible.
void end_indexes(const TableDefinition& of, const TableDefinition& but) noexcept {
  for (const auto& index : of.index_lives) {
    if (!but.has(*index)) {
      index->is_gone.store(true, std::memory_order_release);
    }
  }
}
void begin_indexes(const TableDefinition& of, const TableDefinition& but, Gsn now) noexcept {
  for (const auto& index : of.index_lives) {
    if (!but.has(*index)) {
      index->since.store(now, std::memory_order_relaxed);  // published with the definition
    }
  }
}

void end_trees(const TableDefinition& definition) noexcept {
  definition.life->are_gone.store(true, std::memory_order_release);
}

/// Whether a snapshot sees `past`, or may see it later. `newer`: the commit status of its
/// successor.
bool is_needed(const TableDefinition& past, const versioning::CommitStatus& newer,
               const Scan& scan) {
  if (!newer.is_committed()) {
    return true;
  }
  const Gsn from = past.commit_status == nullptr ? Gsn{0} : past.commit_status->timestamp();
  const Gsn until = newer.timestamp();
  if (until > std::min(scan.clock, scan.being_taken)) {
    return true;
  }
  const auto first = std::ranges::lower_bound(scan.in_use, from);
  return first != scan.in_use.end() && *first < until;
}

}  // namespace

void refuse_missing_table(const TableState& table) {
  throw Error(ErrorCode::not_found, fmt::format("there is no table \"{}\"", table.name()));
}

// A definition that is published, or taken back, meanwhile may have been in neither place when it
// was looked for: then visible_to() has changed, and the search is repeated.
const TableDefinition* TableState::past_of(const txn::Transaction* by,
                                           const versioning::ReadView* read_view) const noexcept {
  for (;;) {
    const TableDefinition* const visible = visible_to(by);
    if (visible == nullptr || is_newest_for(*visible, by, read_view)) {
      return visible;
    }
    PALIMPSEST_SYNC_POINT("engine.definition.looks_back");
    const TableDefinition* past = past_.load(std::memory_order_acquire);
    while (past != nullptr && !past->is_seen_by(read_view)) {
      past = past->place.older_.load(std::memory_order_acquire);
    }
    if (visible_to(by) == visible) {
      return past;
    }
  }
}

void TableState::change_to(std::unique_ptr<const TableDefinition> definition) {
  const TableDefinition* const changed = definition.get();
  if (definition != nullptr) {
    kept_.push_back({.definition = std::move(definition)});
  }
  const TableDefinition* const before = changed_.exchange(changed, std::memory_order_acq_rel);
  if (before != nullptr && before != current_.load(std::memory_order_relaxed)) {
    leave(*before, false);
  }
}

// In this order: a reader that finds the new definition, and does not see it, finds the one before.
void TableState::publish() noexcept {
  const TableDefinition* const changed = changed_.load(std::memory_order_relaxed);
  const TableDefinition* const before = current_.load(std::memory_order_relaxed);
  if (changed == nullptr || before == nullptr || changed->life == before->life) {
    return;
  }
  before->place.older_.store(past_.load(std::memory_order_relaxed), std::memory_order_release);
  past_.store(before, std::memory_order_release);
  current_.store(changed, std::memory_order_release);
  unpublished_ = before;
}

void TableState::end_change(bool committed, Gsn now) noexcept {
  const TableDefinition* const changed = changed_.load(std::memory_order_relaxed);
  const TableDefinition* const before =
      unpublished_ != nullptr ? unpublished_ : current_.load(std::memory_order_relaxed);
  if (committed) {
    count(changed, before, now);
  } else {
    forget(changed, before);
  }
  unpublished_ = nullptr;
  bulk_view_.bulk = kNoEpoch;
  definer_.store(nullptr);
}

void TableState::count(const TableDefinition* changed, const TableDefinition* before,
                       Gsn now) noexcept {
  if (changed == nullptr) {
    drop(before);
    return;
  }
  const bool is_published = unpublished_ != nullptr;
  if (is_published) {
    last_bulk_ = kNoEpoch;  // that bulk did not change the tree of these rows
  } else if (before != nullptr) {
    begin_indexes(*changed, *before, now);
  }
  current_.store(changed, std::memory_order_release);
  if (!is_published && before != nullptr && before != changed) {
    end_indexes(*before, *changed);
    leave(*before, false);
  }
}

// The catalog returns the current definition's trees; past definitions go with the table, whether
// or not a snapshot sees them.
void TableState::drop(const TableDefinition* before) noexcept {
  current_.store(nullptr, std::memory_order_release);
  const TableDefinition* past = past_.exchange(nullptr, std::memory_order_acq_rel);
  while (past != nullptr) {
    const TableDefinition& definition = *past;
    past = definition.place.older_.load(std::memory_order_relaxed);
    end_trees(definition);
    leave(definition, true);
  }
  if (before != nullptr) {
    end_trees(*before);
    leave(*before, false);
  }
}

void TableState::forget(const TableDefinition* changed, const TableDefinition* before) noexcept {
  if (unpublished_ != nullptr) {
    current_.store(before, std::memory_order_release);
    past_.store(before->place.older_.load(std::memory_order_relaxed), std::memory_order_release);
  }
  changed_.store(before, std::memory_order_release);
  if (changed == nullptr || changed == before) {
    return;
  }
  if (before == nullptr || before->life != changed->life) {
    end_trees(*changed);
  } else {
    end_indexes(*changed, *before);
  }
  leave(*changed, false);
}

void TableState::let_go_past(const Scan& scan) noexcept {
  const TableDefinition* newer = current_.load(std::memory_order_relaxed);
  std::atomic<const TableDefinition*>* link = &past_;
  while (const TableDefinition* const past = link->load(std::memory_order_relaxed)) {
    std::atomic<const TableDefinition*>& older = past->place.older_;
    if (is_needed(*past, *newer->commit_status, scan)) {
      link = &older;
    } else {  // a reader that is at this one continues from it
      link->store(older.load(std::memory_order_relaxed), std::memory_order_release);
      leave(*past, true);
    }
    newer = past;
  }
}

std::size_t TableState::past_trees() const noexcept {
  std::size_t trees = 0;
  for (const TableDefinition* past = past_.load(); past != nullptr;
       past = past->place.older_.load()) {
    trees += 1 + past->indexes.size();
  }
  return trees;
}

void TableState::leave(const TableDefinition& definition, bool gives_trees) noexcept {
  const auto at = std::ranges::find(
      kept_, &definition, [](const KeptDefinition& kept) { return kept.definition.get(); });
  if (at != kept_.end()) {
    at->gives_trees = gives_trees;
    left_.splice(left_.end(), kept_, at);
  }
}

KeptDefinitions TableState::take_left() noexcept {
  KeptDefinitions taken = std::move(left_);
  left_.clear();
  const std::uint64_t now = calls_->now();
  for (KeptDefinition& kept : taken) {
    kept.left = now;
  }
  return taken;
}

}  // namespace palimpsest::engine
