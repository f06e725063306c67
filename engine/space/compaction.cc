#include "engine/space/compaction.h"

#include <algorithm>
#include <chrono>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/btree.h"

namespace palimpsest::engine {

namespace {

/// Maximum number of rounds; each leaves pages that were allocated meanwhile behind the intended
/// end.
constexpr int kRoundsMax = 16;
/// The file may be longer than its contents by this share, so that not every page moves for the
/// sake of the last few.
constexpr std::uint64_t kSlackShare = 32;
constexpr std::uint64_t kSlackPagesMin = 4;
/// Most pages that one transaction purges before it checks the time.
constexpr std::uint64_t kPurgedTogether = 256;
constexpr std::uint32_t kLeavesTogether = 1024;
/// Waits without progress after which trees are left that can only be emptied later, because of a
/// snapshot.
constexpr int kFruitlessWaitsMax = 20;

/// Errors that another user of the tree will meet: the pages behind them stay where they are.
bool is_damage(const Error& error) noexcept {
  return error.code() == ErrorCode::corruption || error.code() == ErrorCode::io_error;
}

}  // namespace

bool in_steps(txn::Transactions& transactions, FunctionRef<bool(const btree::WriteContext&)> step) {
  try {
    const auto by = transactions.begin(txn::Durability::asynchronous);
    const bool more = by->write([&](const btree::WriteContext& context) { return step(context); });
    by->commit();
    return more;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::transaction_too_old) {
      throw;
    }
    return true;
  }
}

CompactionReport Compaction::run() {
  const auto begun = std::chrono::steady_clock::now();
  report_.bytes_before = parts_.file.page_count() * parts_.file.page_size_bytes();
  empty_dropped_trees();
  if (!leaves_ghosts_) {
    purge_all();
  }
  for (int round = 0; round < kRoundsMax; ++round) {
    wait_for_frees();
    parts_.cut_tail(1);
    const std::uint64_t wanted = wanted_pages();
    if (parts_.file.page_count() <= wanted) {
      break;
    }
    parts_.space.allocate_from_beginning();
    pages_to_move_ = report_.pages_moved + in_use_behind(wanted);
    if (move_all(PageId{wanted}) == 0 && move_all_values(PageId{wanted}) == 0) {
      break;
    }
  }
  wait_for_frees();
  parts_.cut_tail(1);
  const std::uint64_t page_size = parts_.file.page_size_bytes();
  report_.bytes_after = parts_.file.page_count() * page_size;
  report_.bytes_in_use =
      (raw(parts_.file.first_page()) + parts_.space.counts().allocated) * page_size;
  report_.pages_unmoved = in_use_behind(wanted_pages());
  report_.duration = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  return report_;
}

void Compaction::tell() {
  if (options_.progress) {
    options_.progress({.pages_moved = report_.pages_moved,
                       .pages_total = std::max(pages_to_move_, report_.pages_moved),
                       .file_bytes = parts_.file.page_count() * parts_.file.page_size_bytes(),
                       .page_bytes = parts_.file.page_size_bytes()});
  }
}

// Empties the trees of dropped tables, which would otherwise be moved first and freed later.
void Compaction::empty_dropped_trees() {
  for (int fruitless = 0; parts_.store.waiting() != 0 && fruitless < kFruitlessWaitsMax;) {
    fruitless = parts_.store.await_steps([] {}) ? 0 : fruitless + 1;
    tell();
  }
}

// Deferred frees come first: afterwards more ghosts can be purged.
void Compaction::purge_all() {
  parts_.transactions.collect_versions();
  parts_.transactions.retire_bulks();
  static_cast<void>(parts_.transactions.free_deferred());
  for (const TreeId id : tree_ids()) {
    try {
      purge(id);
    } catch (const Error& error) {
      if (!is_damage(error)) {
        throw;
      }
    }
  }
}

void Compaction::purge(TreeId id) {
  btree::GhostWalk walk{.leaves_max = kLeavesTogether};
  for (bool more = true; more; tell()) {
    walk.pages_wanted = walk.pages + kPurgedTogether;
    more = in_steps(parts_.transactions, [&](const btree::WriteContext& context) {
      btree::BTree* const tree = parts_.trees.find(id);
      return tree != nullptr && tree->purge_ghosts(context, walk);
    });
  }
}

// Returns the number of pages moved.
std::uint64_t Compaction::move_all(PageId from) {
  const std::uint64_t before = report_.pages_moved;
  btree::PageMoves walk{.from = from};
  for (const TreeId id : tree_ids()) {
    walk.level = 0;
    walk.next.clear();
    try {
      move(id, walk);
    } catch (const Error& error) {
      if (!is_damage(error)) {
        throw;
      }
    }
    if (walk.is_full) {
      break;
    }
  }
  return report_.pages_moved - before;
}

// How many pages. Nothing is read if nothing is left behind the place.
std::uint64_t Compaction::move_all_values(PageId from) {
  if (in_use_behind(raw(from)) == 0) {
    return 0;
  }
  parts_.transactions.collect_versions();
  const std::uint64_t before = report_.pages_moved;
  btree::ValueMoves walk{.from = from};
  for (const TreeId id : tree_ids()) {
    walk.next.clear();
    try {
      move_values(id, walk);
    } catch (const Error& error) {
      if (!is_damage(error)) {
        throw;
      }
    }
  }
  return report_.pages_moved - before;
}

void Compaction::move_values(TreeId id, btree::ValueMoves& walk) {
  for (bool more = true; more; tell()) {
    const std::uint64_t moved = walk.moved;
    more = in_steps(parts_.transactions, [&](const btree::WriteContext& context) {
      btree::BTree* const tree = parts_.trees.find(id);
      return tree != nullptr && btree::move_values_down(*tree, context, walk);
    });
    report_.pages_moved += walk.moved - moved;
    PALIMPSEST_SYNC_POINT("engine.compaction.step");
  }
}

void Compaction::move(TreeId id, btree::PageMoves& walk) {
  for (bool more = true; more; tell()) {
    const std::uint64_t moved = walk.moved;
    more = in_steps(parts_.transactions, [&](const btree::WriteContext& context) {
      btree::BTree* const tree = parts_.trees.find(id);
      return tree != nullptr && tree->structure().move_down(context, walk);
    });
    report_.pages_moved += walk.moved - moved;
    PALIMPSEST_SYNC_POINT("engine.compaction.step");
  }
  if (!walk.is_full) {
    move_root(id, walk);
  }
}

void Compaction::move_root(TreeId id, btree::PageMoves& walk) {
  const std::uint64_t moved = walk.moved;
  try {
    parts_.trees.move_root(parts_.transactions, id, walk);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::transaction_too_old) {  // otherwise the next round does it
      throw;
    }
  }
  report_.pages_moved += walk.moved - moved;
}

// Afterwards pages that were left may be reused, or cut off.
void Compaction::wait_for_frees() {
  static_cast<void>(parts_.transactions.free_deferred());
  parts_.transactions.cover_all_appended();
  parts_.log.wait_durable(parts_.transactions.now());
  parts_.space.complete_frees();
}

/// Pages that the file should have, header and ring included.
std::uint64_t Compaction::wanted_pages() const noexcept {
  const std::uint64_t in_use = parts_.space.counts().allocated;
  return raw(parts_.file.first_page()) + in_use + std::max(in_use / kSlackShare, kSlackPagesMin);
}

std::uint64_t Compaction::in_use_behind(std::uint64_t page) const noexcept {
  std::uint64_t count = 0;
  for (const std::uint64_t end = parts_.file.page_count(); page < end; ++page) {
    const PageId id{page};
    count += parts_.space.is_allocated(id) && !parts_.space.is_map_page(id) ? 1U : 0U;
  }
  return count;
}

// Only usable trees: a tree that is being made may yet be undone.
std::vector<TreeId> Compaction::tree_ids() const {
  std::vector<TreeId> ids;
  for (const txn::TreeCatalog::Entry& entry : parts_.trees.entries()) {
    if (entry.id == txn::kCatalogTree || !entry.name.empty()) {
      ids.push_back(entry.id);
    }
  }
  return ids;
}

}  // namespace palimpsest::engine
