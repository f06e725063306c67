// Moves pages of a tree to lower page ids, so that the end of the file becomes free (structure.h).
//
// A page that moves is resident and latched exclusively together with its parent. Its frame gets
// the other page id; both pages are dirty; one record describes the move (TreeRecordKind::move: the
// whole node under the new id, and its index among the parent's children). The old page is freed as
// any other: it may be reused, or cut off, when that record is durable.
// Nothing else changes, because in memory a page is named by its frame: the parent's swip, the
// mapping table, remembered leaves and shortcuts refer to the frame. A page id stands in
//   - swips of evicted pages: this page is resident. A reader that read the swip with the old page
//     id before the page was loaded checks the parent again before it loads anything
//     (page_loader.h), and finds the frame;
//   - the orphan registry: only of evicted pages; one that is evicted later has the new id;
//   - copies on their way to disk: a page that is being written is skipped until another walk, and
//     no write begins while it is latched. So nothing is written to the old page any more, and no
//     write of it clears the mark of the new one;
//   - records in the log: those before this one belong to an earlier life of the old page, and
//     replay skips them as those of any freed page; those behind it name the new one;
//   - backups: if a page moves to where a backup has already been, the log since the start of the
//     backup holds the whole page.
// Readers are kept out while the record is appended, and then search again.
// A page that a bulk is writing is either not in the tree yet, or an ordinary page: virtual
// versions lie in the node.
// The root is named by a record of the catalog instead of a parent. That record's leaf is latched
// first, then the root, if it is in memory: no thread waits for a page of the catalog while it
// holds a page of another tree. The root's place (buffer/root_places.h) names its frame, which
// stays, or, later, its new page. The record's value is changed in place, without a version:
// whatever version of the record a reader sees, the root is this page. The catalog ensures that the
// creation of the tree is not undone meanwhile.
// Crash: before the record is durable neither page is written in its new state (I-2: both have its
// GSN), and the old page is not reused; afterwards replay makes the new page from the record alone.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/sync_point.h"
#include "btree/log/moved_page.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log_change.h"
#include "btree/node/inner_node.h"
#include "btree/structure.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::SharedPage;
using buffer::Swip;

namespace {

/// Attempts to latch a page and its parent before the page is skipped until another walk.
constexpr int kAttemptsMax = 16;

}  // namespace

bool Structure::move_down(const WriteContext& by, PageMoves& walk) const {
  const auto children = children_to_move(walk);
  if (!children) {
    return false;
  }
  for (const std::string& key : children->keys) {
    move_child(by, {key}, children->level, walk);
    if (walk.is_full) {
      return false;
    }
  }
  return true;
}

// Advances the walk. Nothing: the tree has no such level. The node is copied, because keys must not
// be allocated under its latch.
std::optional<Structure::Children> Structure::children_to_move(PageMoves& walk) const {
  const std::uint32_t page_size = descent_.page_size();
  std::vector<std::byte> copy(page_size);
  std::vector<SlotIndex> found;
  found.reserve(page_size / sizeof(InnerSlot) + 1);
  for (;;) {
    if (descent_.root_level() <= walk.level) {
      return std::nullopt;
    }
    const auto parent = descent_.try_node<SharedPage>(Target{walk.next}, walk.level + 1);
    if (parent) {
      find_children(*parent, walk.from, found);
      std::memcpy(copy.data(), parent->page(), page_size);
      break;
    }
  }
  const InnerView node(copy.data(), page_size);
  Children children{.level = walk.level, .keys = {}};
  KeyBuffer key;
  for (const SlotIndex child : found) {
    node.copy_child_lower(child, key);
    children.keys.emplace_back(key.view());
  }
  if (node.copy_child_upper(node.count(), key)) {
    walk.next.assign(key.view());
  } else {
    walk.next.clear();
    ++walk.level;
  }
  return children;
}

// Finds the children of a latched node that lie at `from` or behind; `found` has room for all.
void Structure::find_children(const SharedPage& parent, PageId from,
                              std::vector<SlotIndex>& found) const {
  const InnerView node(parent.page(), descent_.page_size());
  for (SlotIndex child = 0; child < node.child_count(); ++child) {
    const auto swip = Swip::of_word(node.swip_at(child));
    const PageId page =
        swip.swizzled()
            ? descent_.pool().frames()[swip.frame()].page_id.load(std::memory_order_relaxed)
            : swip.page();
    if (page >= from) {
      found.push_back(child);
    }
  }
}

void Structure::move_child(const WriteContext& by, const Target& child, std::uint32_t level,
                           PageMoves& walk) const {
  by.prepare_structure_change(descent_.page_size());
  const auto to = descent_.pool().space().claim_between(walk.free_from, walk.from);
  if (!to) {
    walk.is_full = true;
    return;
  }
  walk.free_from = *to;
  Attempt<MoveOutcome> outcome = restart;
  try {
    for (int attempts = 0; attempts < kAttemptsMax && !outcome; ++attempts) {
      outcome = try_move(by, child, level, walk.from, *to);
    }
  } catch (...) {
    descent_.pool().space().free(*to);
    throw;
  }
  if (outcome && *outcome == MoveOutcome::moved) {
    ++walk.moved;
    return;
  }
  walk.left += outcome && *outcome == MoveOutcome::stays ? 0U : 1U;
  descent_.pool().space().free(*to);
}

Attempt<Structure::MoveOutcome> Structure::try_move(const WriteContext& by, const Target& child,
                                                    std::uint32_t level, PageId from,
                                                    PageId to) const {
  if (descent_.root_level() <= level) {
    return MoveOutcome::stays;  // the tree has shrunk
  }
  auto latched = latch_family(child.key, level);
  if (!latched) {
    return restart;
  }
  Family family = *std::move(latched);
  const PageId page = page_id_of(family.node);
  const auto leave = [&](MoveOutcome outcome) {
    family.node.release_unchanged();
    family.parent.release_unchanged();
    return outcome;
  };
  if (!family.parent.holds() || page < from) {
    return leave(MoveOutcome::stays);
  }
  if (family.node.frame().has(buffer::FrameFlag::writing)) {
    return leave(MoveOutcome::is_written);
  }
  static_cast<void>(family.parent.modify());
  descent_.pool().rename(family.node, to);
  PALIMPSEST_SYNC_POINT("btree.move.renamed");
  const Gsn gsn = log_move(by, family, child.key, page);
  family.node.release();
  family.parent.release();
  PALIMPSEST_SYNC_POINT("btree.move.done");
  descent_.pool().space().free_when_durable({page, 1}, gsn);
  return MoveOutcome::moved;
}

PageId Structure::move_root(const WriteContext& by, const Structure& catalog, ByteView name,
                            PageId root, PageMoves& walk) const {
  if (root < walk.from) {
    return root;
  }
  buffer::SpaceMap& space = descent_.pool().space();
  by.prepare_structure_change(descent_.page_size());
  const auto to = space.claim_between(walk.free_from, walk.from);
  if (!to) {
    walk.is_full = true;
    return root;
  }
  walk.free_from = *to;
  bool has_moved = false;
  try {
    has_moved = try_move_root(by, catalog, name, *to);
  } catch (...) {
    space.free(*to);
    throw;
  }
  if (!has_moved) {
    space.free(*to);
    ++walk.left;
    return root;
  }
  ++walk.moved;
  return *to;
}

// False, and nothing changed, if the root is being written, was evicted, or is another page now.
bool Structure::try_move_root(const WriteContext& by, const Structure& catalog, ByteView name,
                              PageId to) const {
  const std::uint32_t page_size = descent_.page_size();
  static_cast<void>(descent_.root_level());  // loads the root while nothing is latched
  ExclusivePage naming = catalog.descent_.leaf<ExclusivePage>(Target{name});
  const LeafView leaf(naming.page(), page_size);
  const SearchResult at = leaf.find(name);
  std::optional<ExclusivePage> root = descent_.root().latch_if_resident();
  const PageId from = root ? page_id_of(*root) : kNoPage;
  if (!root || !at.found || root_named(leaf, at.slot) != from ||
      root->frame().has(buffer::FrameFlag::writing)) {
    if (root) {
      root->release_unchanged();
    }
    naming.release_unchanged();
    return false;
  }
  name_root(LeafNode(naming.modify(), page_size), at.slot, to);
  descent_.pool().rename(*root, to);
  PALIMPSEST_SYNC_POINT("btree.move.root_renamed");
  const Gsn gsn = log_root_move(by, *root, naming, at.slot, catalog.tree_, from);
  root->release();
  naming.release();
  descent_.pool().space().free_when_durable({from, 1}, gsn);
  return true;
}

Gsn Structure::log_root_move(const WriteContext& by, ExclusivePage& root, ExclusivePage& naming,
                             SlotIndex slot, TreeId catalog, PageId from) const noexcept {
  if (by.log() == nullptr) {
    return Gsn{0};
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn = log_system_change(by, std::max(gsn_of(root.page()), gsn_of(naming.page())),
                                    LoggedMove{.from = from,
                                               .node = {root.page(), descent_.page_size()},
                                               .parent = page_id_of(naming),
                                               .child = slot,
                                               .swips = swip_names(),
                                               .naming_tree = catalog});
  space.take({page_id_of(root), 1}, gsn);
  space.give({from, 1}, gsn);
  set_gsn(root, gsn);
  set_gsn(naming, gsn);
  return gsn;
}

std::uint64_t Structure::approximate_leaves() const {
  std::uint64_t leaves = 1;
  for (std::uint32_t level = descent_.root_level(); level > 0; --level) {
    const auto node = descent_.try_node<SharedPage>(Target{ByteView()}, level);
    leaves *= node ? InnerView(node->page(), descent_.page_size()).child_count() : 1;
  }
  return leaves;
}

// The caller holds the family exclusively.
Gsn Structure::log_move(const WriteContext& by, Family& family, ByteView key,
                        PageId from) const noexcept {
  if (by.log() == nullptr) {
    return Gsn{0};
  }
  auto space = descent_.pool().space().change();
  const InnerView parent(family.parent.page(), descent_.page_size());
  const Gsn gsn = log_system_change(by, std::max(gsn_of(family.node.page()), gsn_of(parent.page())),
                                    LoggedMove{.from = from,
                                               .node = {family.node.page(), descent_.page_size()},
                                               .parent = page_id_of(family.parent),
                                               .child = parent.route(key),
                                               .swips = swip_names()});
  space.take({page_id_of(family.node), 1}, gsn);
  space.give({from, 1}, gsn);
  set_gsn(family.node, gsn);
  set_gsn(family.parent, gsn);
  return gsn;
}

}  // namespace palimpsest::btree
