#include "btree/structure.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/log/tree_record_encode.h"
#include "btree/log_change.h"
#include "btree/node/inner_node.h"
#include "btree/node/span_marks.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using buffer::PageType;
using buffer::Swip;

namespace {

/// Attempts of a merge before it is left to the next removal.
constexpr int kMergeAttemptsMax = 8;

PageType type_of(const ExclusivePage& page) {
  return page.frame().type.load(std::memory_order_relaxed);
}

/// Copies a whole page, but keeps the target's page id.
void copy_page(ExclusivePage& to, const ExclusivePage& from, std::uint32_t page_size) {
  std::byte* target = to.modify();
  std::memcpy(target, from.page(), page_size);
  const PageId id = page_id_of(to);
  std::memcpy(target + offsetof(buffer::PageHeader, page_id), &id, sizeof id);
}

BulkEpoch epoch_of(const ExclusivePage& page) noexcept {
  return NodeView(page.page(), buffer::kPageSizeMin).bulk_epoch();  // works for every page size
}

/// The epoch of both leaves' records together; nothing if they differ, because a leaf has one
/// epoch.
std::optional<BulkEpoch> joint_epoch(const ExclusivePage& left,
                                     const ExclusivePage& right) noexcept {
  const BulkEpoch one = epoch_of(left);
  const BulkEpoch other = epoch_of(right);
  if (one != other && one != kNoEpoch && other != kNoEpoch) {
    return std::nullopt;
  }
  return one != kNoEpoch ? one : other;
}

}  // namespace

Attempt<Structure::Family> Structure::latch_family(ByteView key, std::uint32_t level) const {
  const Target target{key};
  Family family;
  if (descent_.root_level() == level) {
    auto root = descent_.try_node<ExclusivePage>(target, level);
    if (!root) {
      return restart;
    }
    family.node = *std::move(root);
    const bool is_root = descent_.root().is(family.node);
    if (!is_root) {  // the tree has grown
      family.node.release_unchanged();
      return restart;
    }
    return family;
  }
  auto parent = descent_.try_node<ExclusivePage>(target, level + 1);
  if (!parent) {
    return restart;
  }
  const SlotIndex index = InnerView(parent->page(), descent_.page_size()).route(key);
  ExclusivePage node = latch_child(*parent, index);
  if (!node.holds()) {
    parent->release_unchanged();
    bring_in_child(key, level + 1, index);
    return restart;
  }
  family.parent = *std::move(parent);
  family.node = std::move(node);
  return family;
}

// Holds nothing if the child is not resident.
ExclusivePage Structure::latch_child(const ExclusivePage& parent, SlotIndex child) const {
  const auto swip = Swip::of_word(InnerView(parent.page(), descent_.page_size()).swip_at(child));
  return swip.swizzled() ? descent_.pool().resident_child(parent, swip) : ExclusivePage();
}

// Makes one attempt; the caller searches again in any case. No latch is held.
void Structure::bring_in_child(ByteView key, std::uint32_t parent_level, SlotIndex child) const {
  PALIMPSEST_SYNC_POINT("btree.child.not_resident");
  auto parent = descent_.try_node<buffer::OptimisticPage>(Target{key}, parent_level);
  if (!parent) {
    return;
  }
  // The node may now have fewer children than `child`; the bytes beyond them are arbitrary.
  using Child = std::optional<buffer::SwipRef>;
  const auto swip = parent->read([&](const std::byte* page) {
    const InnerView node(page, descent_.page_size());
    return child < node.child_count()
               ? Child({Swip::of_word(node.swip_at(child)), node.swip_offset(child)})
               : Child();
  });
  if (swip && *swip) {
    static_cast<void>(descent_.pool().descend(*parent, **swip));
  }
}

// Splits

void Structure::make_room(const WriteContext& by, ByteView key, std::size_t value_len) const {
  split(by, 0, {.key = key, .value_len = value_len});
}

void Structure::split_leaf(const WriteContext& by, ByteView key) const {
  split(by, 0, {.key = key, .in_the_middle = true});
}

void Structure::split(const WriteContext& by, std::uint32_t level, const Need& need) const {
  for (;;) {
    SplitPlan plan;
    by.prepare_structure_change(descent_.page_size());  // first: it may wait, and frames are scarce
    {
      auto reservation = descent_.pool().reserve(kPagesPerStep);
      for (;;) {
        const auto outcome = try_split(by, level, need, reservation, plan);
        if (outcome && *outcome == SplitOutcome::done) {
          return;
        }
        if (outcome) {
          break;
        }
      }
    }
    // The reservation is released first: no thread waits for frames while it holds some.
    PALIMPSEST_SYNC_POINT("btree.split.parent_is_full");
    split(by, level + 1, {.key = plan.separator.view()});
  }
}

Attempt<Structure::SplitOutcome> Structure::try_split(const WriteContext& by, std::uint32_t level,
                                                      const Need& need,
                                                      buffer::PageReservation& reservation,
                                                      SplitPlan& plan) const {
  if (descent_.root_level() < level) {
    return SplitOutcome::done;  // the tree has shrunk: the caller searches again
  }
  auto latched = latch_family(need.key, level);
  if (!latched) {
    return restart;
  }
  Family family = *std::move(latched);
  if (!plan_for(family.node, need, plan)) {
    family.node.release_unchanged();
    family.parent.release_unchanged();
    return SplitOutcome::done;  // another thread has made room
  }
  if (!family.parent.holds()) {
    split_root(by, family.node, plan, reservation);
    return SplitOutcome::done;
  }
  if (!InnerView(family.parent.page(), descent_.page_size()).can_insert(plan.separator.size())) {
    family.node.release_unchanged();
    family.parent.release_unchanged();
    return SplitOutcome::parent_is_full;
  }
  split_below_parent(by, family, plan, reservation);
  return SplitOutcome::done;
}

// False if the node need not be split, or cannot be.
bool Structure::plan_for(const ExclusivePage& node, const Need& need, SplitPlan& plan) const {
  if (type_of(node) == PageType::tree_leaf) {
    const LeafView leaf(node.page(), descent_.page_size());
    const LeafReserve reserve(node, descent_.page_size());
    if (need.in_the_middle && leaf.count() < 2) {
      return false;
    }
    const SearchResult at = leaf.find(need.key);
    if (!need.in_the_middle &&
        (at.found || can_insert(node, descent_.page_size(), need.key.size(), need.value_len))) {
      return false;
    }
    // Records with a shadow may be too large for a cut that includes a new record.
    if (need.in_the_middle || (leaf.shadow_count() != 0 && leaf.count() >= 2)) {
      plan_split(leaf, reserve, plan);
      return true;
    }
    plan_split(leaf, at.slot, need.key, need.value_len, reserve, plan);
    return true;
  }
  const InnerView inner(node.page(), descent_.page_size());
  const SearchResult at = inner.find(need.key);
  if (at.found || inner.can_insert(need.key.size())) {
    return false;
  }
  plan_split(inner, at.slot, need.key, plan);
  return true;
}

void Structure::split_root(const WriteContext& by, ExclusivePage& root, const SplitPlan& plan,
                           buffer::PageReservation& reservation) const {
  buffer::BufferPool& pool = descent_.pool();
  const PageType type = type_of(root);
  const std::uint32_t level = InnerView(root.page(), descent_.page_size()).level();
  auto right_table = table_for_right(root, plan.separator.view(), descent_.page_size());
  ExclusivePage left = pool.new_page(reservation, type, root);
  ExclusivePage right = pool.new_page(reservation, type, root);
  copy_page(left, root, descent_.page_size());
  move_table(root, left);
  carry_out(left, right, plan, std::move(right_table));
  pool.adopt_children(left);
  InnerNode above(root.modify(), descent_.page_size());
  above.init(page_id_of(root), tree_, level + 1, ByteView(), std::nullopt,
             Swip::of_frame(pool.index_of(left.frame())).word());
  const bool fits =
      above.insert(0, plan.separator.view(), Swip::of_frame(pool.index_of(right.frame())).word());
  check(fits, "an empty root takes any separator");
  pool.set_type(root, PageType::tree_inner);
  log_root_split({by, left, right, root}, plan);
  PALIMPSEST_SYNC_POINT("btree.split.done");
}

void Structure::split_below_parent(const WriteContext& by, Family& family, const SplitPlan& plan,
                                   buffer::PageReservation& reservation) const {
  buffer::BufferPool& pool = descent_.pool();
  auto right_table = table_for_right(family.node, plan.separator.view(), descent_.page_size());
  ExclusivePage right = pool.new_page(reservation, type_of(family.node), family.parent);
  carry_out(family.node, right, plan, std::move(right_table));
  PALIMPSEST_SYNC_POINT("btree.split.carried_out");
  InnerNode parent(family.parent.modify(), descent_.page_size());
  const SearchResult at = parent.find(plan.separator.view());
  const bool fits = parent.insert(at.slot, plan.separator.view(),
                                  Swip::of_frame(pool.index_of(right.frame())).word());
  check(fits, "the parent has room for the separator");
  log_split({by, family.node, right, family.parent}, plan, at.slot);
  PALIMPSEST_SYNC_POINT("btree.split.done");
}

void Structure::carry_out(ExclusivePage& left, ExclusivePage& right, const SplitPlan& plan,
                          versioning::TablePtr right_table) const {
  const std::uint32_t page_size = descent_.page_size();
  if (type_of(left) == PageType::tree_leaf) {
    split_into(LeafNode(left.modify(), page_size), LeafNode(right.modify(), page_size),
               page_id_of(right), plan);
    LeafNode(right.modify(), page_size).set_bulk_epoch(epoch_of(left));
    split_table(left, right, plan.separator.view(), std::move(right_table));
  } else {
    split_into(InnerNode(left.modify(), page_size), InnerNode(right.modify(), page_size),
               page_id_of(right), plan);
    descent_.pool().adopt_children(right);
  }
}

// Merges

std::uint32_t Structure::merge_leaf(const WriteContext& by, ByteView key) const noexcept {
  std::uint32_t level = 0;
  std::uint32_t pages = 0;
  try {
    for (int attempts = 0; attempts < kMergeAttemptsMax; ++attempts) {
      if (!by.try_prepare_structure_change(descent_.page_size())) {
        break;
      }
      const auto outcome = try_merge(by, key, level);
      if (outcome && *outcome == MergeOutcome::not_possible) {
        break;
      }
      pages += outcome ? 1U : 0U;
      if (outcome && *outcome == MergeOutcome::go_on_above) {
        ++level;
        attempts = 0;
      }
    }
  } catch (const std::exception&) {
    return pages;  // a neighbour could not be loaded; the tree is valid without the merge
  }
  return pages;
}

Attempt<Structure::MergeOutcome> Structure::try_merge(const WriteContext& by, ByteView key,
                                                      std::uint32_t level) const {
  if (descent_.root_level() <= level) {
    return MergeOutcome::not_possible;
  }
  auto latched = descent_.try_node<ExclusivePage>(Target{key}, level + 1);
  if (!latched) {
    return restart;
  }
  ExclusivePage parent = *std::move(latched);
  const InnerView view(parent.page(), descent_.page_size());
  const SlotIndex index = view.route(key);
  const SlotIndex last = view.count();
  const bool is_root = descent_.root().is(parent);
  if (last == 0 && !is_root) {
    parent.release_unchanged();
    return MergeOutcome::go_on_above;  // an only child has no neighbour until its parent merges
  }
  const SlotIndex from = index == 0 ? 0 : index - 1;
  for (SlotIndex child = from; child <= std::min(index + 1, last); ++child) {
    if (!Swip::of_word(view.swip_at(child)).swizzled()) {
      parent.release_unchanged();
      bring_in_child(key, level + 1, child);
      return restart;
    }
  }
  const bool merged = (index > 0 && merge_children(by, parent, index - 1)) ||
                      (index < last && merge_children(by, parent, index));
  if (!merged) {
    parent.release_unchanged();
    return MergeOutcome::not_possible;
  }
  const InnerView after(parent.page(), descent_.page_size());
  const bool thin = after.level() > level && thinly_filled(after.free_bytes(), after.page_size());
  return !is_root && thin ? MergeOutcome::go_on_above : MergeOutcome::merged;
}

// The caller holds the parent exclusively; both children are resident. False, and nothing changed,
// if they should not be merged.
bool Structure::merge_children(const WriteContext& by, ExclusivePage& parent,
                               SlotIndex left_index) const {
  ExclusivePage left = latch_child(parent, left_index);
  ExclusivePage right = latch_child(parent, left_index + 1);
  if (!worth_merging(left, right) || !can_join_spans(by, left, right)) {
    right.release_unchanged();
    left.release_unchanged();
    return false;
  }
  prepare_merge_tables(left, right);
  const std::uint32_t page_size = descent_.page_size();
  if (type_of(left) == PageType::tree_leaf) {
    const BulkEpoch epoch = *joint_epoch(left, right);
    remove_stale_marks(LeafNode(left.modify(), page_size), table_of(left.frame()),
                       table_of(right.frame()));
    remove_stale_marks(LeafNode(right.modify(), page_size), table_of(right.frame()),
                       table_of(left.frame()));
    merge_into_left(LeafNode(left.modify(), page_size), LeafView(right.page(), page_size));
    LeafNode(left.modify(), page_size).set_bulk_epoch(epoch);
    merge_tables(left, right);
  } else {
    merge_into_left(InnerNode(left.modify(), page_size), InnerView(right.page(), page_size));
    descent_.pool().adopt_children(left);
  }
  InnerNode above(parent.modify(), page_size);
  above.remove(left_index);
  PALIMPSEST_SYNC_POINT("btree.merge.unlinked");
  const bool parent_is_root = descent_.root().is(parent);
  const Step step{by, left, right, parent};
  if (parent_is_root && above.count() == 0) {
    shrink_root(parent, left);
    log_root_merge(step);
    descent_.pool().free_page(std::move(left));
  } else {
    log_merge(step, left_index);
  }
  descent_.pool().free_page(std::move(right));
  PALIMPSEST_SYNC_POINT("btree.merge.done");
  return true;
}

// The merged node keeps a tenth of the page free, or the next inserts would split it again. Bytes
// reserved on either side count as used. A right leaf without records adds none: the left one may
// be as full as it is, or empty leaves would stay behind a front that moves on.
bool Structure::worth_merging(const ExclusivePage& left, const ExclusivePage& right) const {
  const std::uint32_t page_size = descent_.page_size();
  const auto reserved_on = [](const ExclusivePage& page) {
    const versioning::MappingTable* table = table_of(page.frame());
    return table == nullptr ? 0 : table->reserved_bytes();
  };
  if (!joint_epoch(left, right)) {
    return false;
  }
  const std::uint32_t reserved_left = reserved_on(left);
  const std::uint32_t reserved_right = reserved_on(right);
  const auto thin = [&](const auto& node, std::uint32_t reserved) {
    return thinly_filled(node.free_bytes() - std::min(node.free_bytes(), reserved), page_size);
  };
  const bool takes_nothing =
      type_of(left) == PageType::tree_leaf && LeafView(right.page(), page_size).count() == 0;
  const std::uint32_t capacity = node_capacity_bytes(page_size);
  const std::uint32_t bytes_max = takes_nothing ? capacity : capacity / 10 * 9;
  const auto judge = [&](const auto& a, const auto& b) {
    return (thin(a, reserved_left) || thin(b, reserved_right)) && can_merge(a, b) &&
           merged_bytes(a, b) + reserved_left + reserved_right <= bytes_max;
  };
  return type_of(left) == PageType::tree_leaf
             ? judge(LeafView(left.page(), page_size), LeafView(right.page(), page_size))
             : judge(InnerView(left.page(), page_size), InnerView(right.page(), page_size));
}

// Only spans with a marked record count: leaves without records are merged in any case.
bool Structure::can_join_spans(const WriteContext& by, const ExclusivePage& left,
                               const ExclusivePage& right) const noexcept {
  if (type_of(left) != PageType::tree_leaf) {
    return true;
  }
  forget_unmarked_spans(left, descent_.page_size());
  forget_unmarked_spans(right, descent_.page_size());
  return can_merge_tables(left, right, by.pruner());
}

void Structure::shrink_root(ExclusivePage& root, ExclusivePage& only_child) const {
  copy_page(root, only_child, descent_.page_size());
  move_table(only_child, root);
  descent_.pool().set_type(root, type_of(only_child));
  descent_.pool().adopt_children(root);
}

// Logging. The caller holds all pages of the step exclusively, so the children of its inner pages
// stay in their frames. A freed page gets the GSN too: it is reused once the record is durable.

namespace {

PageId page_of_swip(const void* context, std::uint64_t word) noexcept {
  const auto& frames = *static_cast<const buffer::FrameTable*>(context);
  return frames[Swip::of_word(word).frame()].page_id.load(std::memory_order_relaxed);
}

Gsn newest_of(const ExclusivePage& a, const ExclusivePage& b, const ExclusivePage& c) noexcept {
  return std::max({gsn_of(a.page()), gsn_of(b.page()), gsn_of(c.page())});
}

buffer::PageRun run_of(const ExclusivePage& page) {
  return {page_id_of(page), 1};
}

void stamp_all(ExclusivePage& a, ExclusivePage& b, ExclusivePage& c, Gsn gsn) noexcept {
  set_gsn(a, gsn);
  set_gsn(b, gsn);
  set_gsn(c, gsn);
}

void stamp_merged(ExclusivePage& left, ExclusivePage& right, ExclusivePage& above,
                  Gsn gsn) noexcept {
  set_gsn(left, gsn);
  set_gsn_of_freed(right, gsn);
  set_gsn(above, gsn);
}

}  // namespace

SwipNames Structure::swip_names() const noexcept {
  return {.page_of = page_of_swip, .context = &descent_.pool().frames()};
}

void Structure::log_split(const Step& step, const SplitPlan& plan,
                          SlotIndex parent_slot) const noexcept {
  if (step.by.log() == nullptr) {
    return;
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn = log_system_change(step.by, newest_of(step.left, step.left, step.above),
                                    LoggedSplit{.plan = plan,
                                                .left = page_id_of(step.left),
                                                .right = {step.right.page(), descent_.page_size()},
                                                .parent = page_id_of(step.above),
                                                .parent_slot = parent_slot,
                                                .swips = swip_names()});
  space.take(run_of(step.right), gsn);
  stamp_all(step.left, step.right, step.above, gsn);
}

void Structure::log_root_split(const Step& step, const SplitPlan& plan) const noexcept {
  if (step.by.log() == nullptr) {
    return;
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn =
      log_system_change(step.by, gsn_of(step.left.page()),
                        LoggedRootSplit{.plan = plan,
                                        .left = {step.left.page(), descent_.page_size()},
                                        .right = {step.right.page(), descent_.page_size()},
                                        .root = page_id_of(step.above),
                                        .swips = swip_names()});
  space.take(run_of(step.left), gsn);
  space.take(run_of(step.right), gsn);
  stamp_all(step.left, step.right, step.above, gsn);
}

void Structure::log_merge(const Step& step, SlotIndex parent_slot) const noexcept {
  if (step.by.log() == nullptr) {
    return;
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn = log_system_change(step.by, newest_of(step.left, step.right, step.above),
                                    LoggedMerge{.left = page_id_of(step.left),
                                                .right = {step.right.page(), descent_.page_size()},
                                                .parent = page_id_of(step.above),
                                                .parent_slot = parent_slot,
                                                .swips = swip_names(),
                                                .epoch = epoch_of(step.left)});
  space.give(run_of(step.right), gsn);
  stamp_merged(step.left, step.right, step.above, gsn);
}

void Structure::log_root_merge(const Step& step) const noexcept {
  if (step.by.log() == nullptr) {
    return;
  }
  auto space = descent_.pool().space().change();
  const Gsn gsn =
      log_system_change(step.by, newest_of(step.left, step.right, step.above),
                        LoggedRootMerge{.left = page_id_of(step.left),
                                        .right = page_id_of(step.right),
                                        .root = {step.above.page(), descent_.page_size()},
                                        .swips = swip_names()});
  space.give(run_of(step.left), gsn);
  space.give(run_of(step.right), gsn);
  stamp_merged(step.left, step.right, step.above, gsn);
}

}  // namespace palimpsest::btree
