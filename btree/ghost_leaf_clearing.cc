#include "btree/ghost_leaf_clearing.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>

#include "btree/ghost_leaves.h"
#include "btree/leaf_walk.h"
#include "btree/node/key_bytes.h"

namespace palimpsest::btree {
namespace {

/// A write clears one in kShare of the leaves that a walk has met, and at most kLeavesMax.
constexpr std::uint32_t kShare = 8;
constexpr std::uint32_t kLeavesMax = 1024;

/// A key by which the leaf is found again; empty: the tree's first leaf, which is not cleared.
void copy_key_of(const LeafView& leaf, KeyBuffer& key) noexcept {
  if (leaf.count() != 0) {
    leaf.copy_key(0, key);
  } else {
    key.assign(leaf.lower_fence());
  }
}

/// Clears leaves from a key on, up to the first leaf that is still needed.
void clear_leaves(BTree& tree, const WriteContext& by, ByteView from, std::uint32_t most) {
  KeyBuffer key;
  LeafWalk leaves(tree.descent(), {.lower = from, .upper = std::nullopt}, Direction::forward);
  for (std::uint32_t count = 0; count < most && leaves.next(); ++count) {
    const LeafView leaf = leaves.leaf();
    if (!GhostLeaves::is_dead(leaf)) {
      return;
    }
    const bool is_of_bulk = leaf.bulk_epoch() != kNoEpoch;
    const bool is_empty = leaf.count() == 0;
    copy_key_of(leaf, key);
    leaves.release();
    if (key.size() == 0) {
      continue;
    }
    if (is_of_bulk && !tree.resolve(by, key.view())) {
      return;  // no log space
    }
    const std::size_t purged =
        tree.purge_ghosts(by, key.view(), [](const LeafView&, SlotIndex) { return true; });
    if (purged == 0 && !is_empty) {
      return;
    }
  }
}

}  // namespace

void clear_noted_leaves(BTree& tree, const WriteContext& by) noexcept {
  if (by.is_bulk()) {
    return;  // later writers clear them when the bulk has ended
  }
  const std::optional<GhostLeafNote> note = tree.ghost_leaf_notes().take();
  if (!note) {
    return;
  }
  try {
    clear_leaves(tree, by, note->key, std::clamp(note->leaves / kShare, 1U, kLeavesMax));
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace palimpsest::btree
