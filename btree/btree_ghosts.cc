// Making, reviving and purging ghosts of a tree (btree.h).
#include <bit>
#include <cstdint>
#include <vector>

#include "btree/btree.h"
#include "btree/leaf_entries.h"
#include "btree/leaf_walk.h"
#include "btree/log_change.h"
#include "btree/node/key_bytes.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;

namespace {

// The caller holds the leaf.
Gsn log_purge(const WriteContext& by, ExclusivePage& leaf, buffer::BufferPool& pool,
              std::span<const SlotIndex> slots,
              std::span<const LargeValueDescriptor> large_values) noexcept {
  if (by.log() == nullptr) {
    return Gsn{0};
  }
  static_cast<void>(leaf.modify());
  auto space = pool.space().change();
  const Gsn gsn =
      log_system_change(by, gsn_of(leaf.page()),
                        LoggedPurge{.leaf = {leaf.page(), pool.page_size_bytes()}, .slots = slots});
  for (const LargeValueDescriptor& large : large_values) {
    for (const buffer::PageRun& run : large.runs()) {
      space.give(run, gsn);
    }
  }
  set_gsn(leaf, gsn);
  return gsn;
}

/// Ghosts made by bulks are excluded: they are purged once their virtual versions are resolved.
bool is_plain_ghost(const LeafView& view, SlotIndex slot) noexcept {
  return (view.flags(slot) & (kGhost | kDeleted)) == kGhost;
}

/// Whether a record of the key's leaf has a shadow.
bool has_shadow(const Descent& descent, ByteView key) {
  const auto leaf = descent.leaf<buffer::SharedPage>(Target{key});
  return LeafView(leaf.page(), descent.page_size()).shadow_count() != 0;
}

/// Finds the slots of ghosts that no reader needs; releases the bytes reserved for them.
void find_idle_ghosts(LeafEntries& entries, const LeafView& view, const WriteContext& by,
                      std::vector<SlotIndex>& slots) {
  entries.prefetch_versions();
  for (SlotIndex slot = 0; slot < view.count(); ++slot) {
    if (is_plain_ghost(view, slot) && entries.give_up_if_idle(slot, by.pruner())) {
      slots.push_back(slot);
    }
  }
}

}  // namespace

bool BTree::mark_deleted(ByteView key, LastLeaf* last) {
  return set_ghost(key, true, last);
}

bool BTree::unmark_deleted(ByteView key, LastLeaf* last) {
  return set_ghost(key, false, last);
}

// False if there is no record, or if it already is as requested.
bool BTree::set_ghost(ByteView key, bool ghost, LastLeaf* last) {
  check_key(key);
  ExclusivePage leaf = exclusive_leaf(key, last);
  const LeafView view(leaf.page(), page_size());
  const SearchResult at = view.find(key);
  if (!at.found || view.is_ghost(at.slot) == ghost) {
    leaf.release_unchanged();
    return false;
  }
  LeafNode(leaf.modify(), page_size()).set_ghost(at.slot, ghost);
  let_go({}, std::move(leaf), key, at.slot, last);
  return true;
}

std::size_t BTree::purge_ghosts(const WriteContext& by, ByteView key,
                                FunctionRef<bool(const LeafView&, SlotIndex)> may_purge) {
  const auto find = [&](LeafEntries& entries, std::vector<SlotIndex>& slots) {
    const LeafView view(entries.leaf().page(), page_size());
    find_idle_ghosts(entries, view, by, slots);
    std::erase_if(slots, [&](SlotIndex slot) { return !may_purge(view, slot); });
  };
  return purge(by, key, find).ghosts;
}

// Tries ghosts backwards from the key, because a consumer that empties a queue has removed the
// ghosts before the key last. Tries the first, the second, the fourth and so on, because many
// ghosts near the key may belong to this transaction, or to other consumers of the queue.
std::size_t BTree::try_purge_ghosts(const WriteContext& by, ByteView key) {
  const auto find = [&](LeafEntries& entries, std::vector<SlotIndex>& slots) {
    const LeafView view(entries.leaf().page(), page_size());
    const SlotIndex count = view.count();
    const SlotIndex from = view.find(key).slot;
    std::uint32_t ghosts = 0;
    bool can_any_go = false;
    for (SlotIndex back = 1; back <= count && !can_any_go; ++back) {
      const SlotIndex slot = (from + count - back) % count;
      can_any_go = is_plain_ghost(view, slot) && std::has_single_bit(++ghosts) &&
                   entries.give_up_if_idle(slot, by.pruner());
    }
    if (can_any_go) {
      find_idle_ghosts(entries, view, by, slots);
    }
  };
  return purge(by, key, find).ghosts;
}

// Concurrent merges make the walk miss no leaf: it continues from the fence of the leaf it left.
bool BTree::purge_ghosts(const WriteContext& by, GhostWalk& walk) {
  const WriteContext outside = by.outside_bulk();  // leaves of other tables get no bulk's epoch
  KeyBuffer key;
  LeafWalk leaves(descent_, {.lower = walk.next, .upper = std::nullopt}, Direction::forward);
  std::uint32_t looked_at = 0;
  while (walk.pages < walk.pages_wanted && leaves.next()) {
    const LeafView leaf = leaves.leaf();
    if (looked_at++ == walk.leaves_max && walk.leaves_max != 0) {
      walk.next.assign(leaf.lower_fence());
      return true;
    }
    const bool has_shadows = leaf.shadow_count() != 0;
    const bool is_of_bulk = leaf.bulk_epoch() != kNoEpoch;
    if (leaf.count() != 0 && (leaf.ghost_count() != 0 || has_shadows)) {
      leaf.copy_key(0, key);
      leaves.release();
      walk.next.assign(key.view());
      if (is_of_bulk && resolver_.resolve_all(outside, key.view()) && has_shadows) {
        walk.pages += has_shadow(descent_, key.view()) ? 0U : 1U;
      }
      const auto find = [&](LeafEntries& entries, std::vector<SlotIndex>& slots) {
        find_idle_ghosts(entries, {entries.leaf().page(), page_size()}, by, slots);
      };
      walk.pages += purge(by, key.view(), find).pages;
    }
    if (by.is_cancelled()) {
      leaves.release();  // reserve() may create a log segment
      by.require_not_cancelled();
    }
  }
  return walk.pages >= walk.pages_wanted;
}

Purged BTree::purge(const WriteContext& by, ByteView key, FindGhosts find) {
  check_key(key);
  if (!by.may_purge() || !by.try_prepare_structure_change(page_size())) {
    return {};
  }
  std::vector<SlotIndex> slots;
  std::vector<LargeValueDescriptor> large_values;
  ExclusivePage leaf = exclusive_leaf(key, nullptr);
  LeafEntries entries(leaf, page_size());
  const LeafView view(leaf.page(), page_size());
  if (view.ghost_count() != 0) {
    find(entries, slots);
  }
  for (const SlotIndex slot : slots) {
    if ((view.flags(slot) & kLargeValue) != 0) {
      large_values.push_back(large_values_->decode(view.value(slot)));
    }
  }
  if (slots.empty()) {
    const bool is_empty = view.count() == 0;  // its neighbours may have been full when it became
                                              // empty
    if (view.ghost_count() != 0) {
      entries.count_purge(true);
    }
    entries.release_unwritten();
    return {.pages = is_empty ? structure_.merge_leaf(by, key) : 0};
  }
  entries.count_purge(false);
  const Gsn gsn = log_purge(by, leaf, descent_.pool(), slots, large_values);
  LeafNode(leaf.modify(), page_size()).purge_ghosts(slots);
  entries.finish();
  const bool thin = Structure::thinly_filled(unreserved_bytes(leaf, page_size()), page_size());
  leaf.release();
  Purged purged{.ghosts = slots.size(), .pages = thin ? structure_.merge_leaf(by, key) : 0};
  for (const LargeValueDescriptor& large : large_values) {
    purged.pages += large.block_count();
    if (by.log() == nullptr) {
      large_values_->free(large);
      continue;
    }
    for (const buffer::PageRun& run : large.runs()) {
      descent_.pool().space().free_when_durable(run, gsn);
    }
  }
  return purged;
}

}  // namespace palimpsest::btree
