// Grafts leaves that were built separately onto the end of a tree (structure.h).
#include <algorithm>

#include "base/check.h"
#include "base/sync_point.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log_change.h"
#include "btree/node/inner_node.h"
#include "btree/structure.h"
#include "buffer/swip.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::Swip;

// The end

std::optional<KeyBuffer> Structure::open_end(const WriteContext& by, ByteView key) const {
  for (;;) {
    SplitPlan plan;
    by.prepare_structure_change(descent_.page_size());
    {
      auto reservation = descent_.pool().reserve(kPagesPerStep);
      for (;;) {
        const auto outcome = try_open_end(by, key, reservation, plan);
        if (outcome && *outcome == GraftOutcome::done) {
          return plan.separator;
        }
        if (outcome && *outcome == GraftOutcome::not_possible) {
          return std::nullopt;
        }
        if (outcome) {
          break;
        }
      }
    }
    split(by, 1, {.key = plan.separator.view()});
  }
}

Attempt<Structure::GraftOutcome> Structure::try_open_end(const WriteContext& by, ByteView key,
                                                         buffer::PageReservation& reservation,
                                                         SplitPlan& plan) const {
  auto latched = latch_family(key, 0);
  if (!latched) {
    return restart;
  }
  Family family = *std::move(latched);
  const LeafView leaf(family.node.page(), descent_.page_size());
  const bool is_root = !family.parent.holds();
  const auto leave = [&](GraftOutcome outcome) {
    family.node.release_unchanged();
    family.parent.release_unchanged();
    return outcome;
  };
  if (leaf.upper_is_infinite() && leaf.count() == 0 && !is_root) {
    plan.separator.assign(leaf.lower_fence());
    return leave(GraftOutcome::done);
  }
  if (!leaf.upper_is_infinite() || !plan_end(family.node, is_root, key, plan)) {
    return leave(GraftOutcome::not_possible);
  }
  if (is_root) {
    split_root(by, family.node, plan, reservation);
    return GraftOutcome::done;
  }
  if (!InnerView(family.parent.page(), descent_.page_size()).can_insert(plan.separator.size())) {
    return leave(GraftOutcome::parent_is_full);
  }
  split_below_parent(by, family, plan, reservation);
  return GraftOutcome::done;
}

// Plans a split that moves no record. Bytes reserved beside records count as used. An empty leaf is
// split only if it is the root, because leaves are grafted below a node of level 1.
bool Structure::plan_end(const ExclusivePage& page, bool is_root, ByteView key,
                         SplitPlan& plan) const {
  const LeafView leaf(page.page(), descent_.page_size());
  const SlotIndex count = leaf.count();
  KeyBuffer last;
  if (count != 0) {
    leaf.copy_key(count - 1, last);
  }
  if (count != 0 ? key <= last.view() : !is_root) {
    return false;
  }
  plan.cut = count;
  plan.new_goes_left = false;
  plan.separator.assign(key.substr(0, count == 0 ? 1 : separator_length(last.view(), key)));
  const LeafReserve reserve(page, descent_.page_size());
  std::uint32_t reserved = 0;
  for (SlotIndex slot = 0; slot < count; ++slot) {
    reserved += reserve(slot);
  }
  return reserved + plan.separator.size() <= leaf.free_bytes() && can_split(leaf, plan);
}

// Leaves

void Structure::graft(const WriteContext& by, std::span<const FreshLeaf> leaves,
                      std::size_t& hung) const {
  while (hung < leaves.size()) {
    by.prepare_structure_change(descent_.page_size());
    const auto outcome = try_graft(by, leaves.subspan(hung), hung);
    if (outcome && *outcome == GraftOutcome::not_possible) {
      return;
    }
    if (outcome && *outcome == GraftOutcome::parent_is_full) {
      split(by, 1, {.key = leaves[hung].upper});
    }
  }
}

Attempt<Structure::GraftOutcome> Structure::try_graft(const WriteContext& by,
                                                      std::span<const FreshLeaf> leaves,
                                                      std::size_t& hung) const {
  const FreshLeaf& first = leaves.front();
  if (descent_.root_level() == 0) {
    return GraftOutcome::not_possible;
  }
  auto latched = descent_.try_node<ExclusivePage>(Target{first.upper}, 1);
  if (!latched) {
    return restart;
  }
  ExclusivePage parent = *std::move(latched);
  const InnerView above(parent.page(), descent_.page_size());
  const SlotIndex index = above.route(first.upper);
  if (!above.upper_is_infinite() || index != above.count()) {
    parent.release_unchanged();
    return GraftOutcome::not_possible;
  }
  ExclusivePage last = latch_child(parent, index);
  if (!last.holds()) {
    parent.release_unchanged();
    bring_in_child(first.upper, 1, index);
    return restart;
  }
  const LeafView leaf(last.page(), descent_.page_size());
  const bool is_possible = leaf.count() == 0 && leaf.lower_fence() == first.lower &&
                           drop_idle_table(last, descent_.page_size());
  const std::size_t count = is_possible ? fitting(above, leaves) : 0;
  if (count == 0) {
    last.release_unchanged();
    parent.release_unchanged();
    return is_possible ? GraftOutcome::parent_is_full : GraftOutcome::not_possible;
  }
  hang(by, parent, last, leaves.first(count));
  hung += count;
  return GraftOutcome::done;
}

/// How many of the leaves fit the parent and one log record.
std::size_t Structure::fitting(const InnerView& parent, std::span<const FreshLeaf> leaves) const {
  std::size_t node_bytes = parent.free_bytes();
  std::size_t record_bytes = max_record_bytes(descent_.page_size()) - sizeof(GraftHeader);
  std::size_t count = 0;
  for (; count < leaves.size(); ++count) {
    const std::size_t key_bytes = leaves[count].upper.size();
    const std::size_t in_node = sizeof(InnerSlot) + key_bytes - parent.header().prefix_len;
    const std::size_t in_record = kGraftEntryBytesMax + key_bytes;
    if (in_node > node_bytes || in_record > record_bytes) {
      break;
    }
    node_bytes -= in_node;
    record_bytes -= in_record;
  }
  return count;
}

// The caller holds the parent and the last leaf exclusively. The new pages are durable, because the
// record that names them may become durable at any moment. They do not have its GSN, so the clock
// is raised above it while no thread can reach them: later changes of them get a larger GSN, and
// commits of them are durable with it (I-3).
void Structure::hang(const WriteContext& by, ExclusivePage& parent, ExclusivePage& last,
                     std::span<const FreshLeaf> leaves) const {
  InnerNode above(parent.modify(), descent_.page_size());
  const SlotIndex slot = above.count();
  const Gsn newest = std::max(gsn_of(parent.page()), gsn_of(last.page()));
  const std::uint64_t last_swip = above.swip_at(slot);
  for (const FreshLeaf& leaf : leaves) {
    above.set_swip(above.count(), Swip::of_page(leaf.page).word());
    const bool fits = above.insert(above.count(), leaf.upper, last_swip);
    check(fits, "the parent has room for each grafted child");
  }
  LeafNode(last.modify(), descent_.page_size())
      .init(page_id_of(last), tree_, leaves.back().upper, std::nullopt);
  PALIMPSEST_SYNC_POINT("btree.graft.hung");
  if (by.log() == nullptr) {
    return;
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn = log_system_change(by, newest,
                                    LoggedGraft{.tree = tree_,
                                                .last = page_id_of(last),
                                                .parent = page_id_of(parent),
                                                .parent_slot = slot,
                                                .leaves = leaves});
  by.log()->cover(gsn);
  for (const FreshLeaf& leaf : leaves) {
    space.take({leaf.page, 1}, gsn);
  }
  set_gsn(parent, gsn);
  set_gsn(last, gsn);
}

}  // namespace palimpsest::btree
