#include "btree/virtual_version_resolver.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/leaf_entries.h"
#include "btree/log_change.h"
#include "btree/node/resolve_records.h"
#include "btree/record_change.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::Visibility;
using State = versioning::BulkEpochs::State;

namespace {

std::vector<SlotIndex> slots_with_virtual_versions(const LeafView& leaf) {
  std::vector<SlotIndex> slots;
  for (SlotIndex slot = 0; slot < leaf.count(); ++slot) {
    if (has_virtual_version(leaf, slot)) {
      slots.push_back(slot);
    }
  }
  return slots;
}

/// Logs and applies the resolution; returns large values that no record names any more. The caller
/// has reserved log space for a system record.
std::vector<LargeValueDescriptor> resolve_and_log(const WriteContext& by, ExclusivePage& leaf,
                                                  buffer::BufferPool& pool,
                                                  std::span<const SlotIndex> slots, Resolution how,
                                                  BulkEpoch epoch, Gsn& gsn) {
  const std::uint32_t page_size = pool.page_size_bytes();
  const LeafView view(leaf.page(), page_size);
  std::vector<LargeValueDescriptor> given_up;
  for (const SlotIndex slot : slots) {
    if (const auto descriptor = freed_by_resolution(view, slot, how)) {
      given_up.push_back(LargeValueDescriptor::decode(*descriptor, page_size));
    }
  }
  std::byte* const page = leaf.modify();
  if (by.log() != nullptr) {
    auto space = pool.space().change();
    gsn = log_system_change(
        by, gsn_of(page), LoggedResolve{.leaf = view, .slots = slots, .how = how, .epoch = epoch});
    for (const LargeValueDescriptor& large : given_up) {
      for (const buffer::PageRun& run : large.runs()) {
        space.give(run, gsn);
      }
    }
    set_gsn(leaf, gsn);
  }
  resolve_records(LeafNode(page, page_size), slots, how, epoch);
  return given_up;
}

}  // namespace

// What must be resolved before `by` writes to the record, and can be.
VirtualVersionResolver::ToResolve VirtualVersionResolver::to_resolve(const WriteContext& by,
                                                                     const ExclusivePage& leaf,
                                                                     ByteView key) const {
  const LeafView view(leaf.page(), descent_.page_size());
  const BulkEpoch epoch = view.bulk_epoch();
  if (epoch == by.bulk_epoch()) [[likely]] {
    return ToResolve::nothing;
  }
  switch (descent_.epochs() == nullptr ? State::retired : descent_.epochs()->state(epoch)) {
    case State::retired: return ToResolve::keep;
    case State::aborted: return ToResolve::undo;
    case State::running: return ToResolve::nothing;
    case State::committed: break;
  }
  if (by.is_bulk()) {
    return slots_with_virtual_versions(view).empty() ? ToResolve::keep : ToResolve::nothing;
  }
  const SearchResult at = view.find(key);
  const bool can_keep =
      at.found && has_virtual_version(view, at.slot) && by.versions() != nullptr &&
      (view.flags(at.slot) & kShadowLarge) == 0 &&
      descent_.visibility_of(epoch, &by.versions()->read_view) == Visibility::visible;
  return can_keep ? ToResolve::one_record : ToResolve::nothing;
}

// Releases the leaf first: reserving log space and memory may wait.
void VirtualVersionResolver::resolve_for(const WriteContext& by, ExclusivePage leaf,
                                         ByteView key) const {
  const bool one_record = to_resolve(by, leaf, key) == ToResolve::one_record;
  const BulkEpoch epoch = LeafView(leaf.page(), descent_.page_size()).bulk_epoch();
  LeafEntries(leaf, descent_.page_size()).release_unwritten();
  by.prepare_resolution(key, descent_.page_size());
  if (one_record) {
    resolve_one(by, key, epoch);
  } else {
    resolve_prepared(by, key);
  }
}

void VirtualVersionResolver::resolve_prepared(const WriteContext& by, ByteView key) const {
  ExclusivePage leaf = descent_.leaf<ExclusivePage>(Target{key});
  const ToResolve what = to_resolve(by, leaf, key);
  if (what != ToResolve::keep && what != ToResolve::undo) {
    LeafEntries(leaf, descent_.page_size()).release_unwritten();
    return;  // another thread has done it
  }
  const auto slots = slots_with_virtual_versions(LeafView(leaf.page(), descent_.page_size()));
  Gsn gsn{};
  const auto given_up = resolve_and_log(
      by, leaf, descent_.pool(), slots,
      what == ToResolve::keep ? Resolution::kept : Resolution::undone, by.bulk_epoch(), gsn);
  leaf.release();
  for (const LargeValueDescriptor& large : given_up) {
    for (const buffer::PageRun& run : large.runs()) {
      descent_.pool().space().free_when_durable(run, gsn);
    }
  }
}

// Older snapshots see the rest of the leaf as it was; of this record they now have a version.
void VirtualVersionResolver::resolve_one(const WriteContext& by, ByteView key,
                                         BulkEpoch epoch) const {
  auto late = descent_.epochs()->late_versions(epoch);
  if (!late) {
    return;  // the bulk has retired: the whole leaf can be resolved
  }
  late->prepare(record_bytes_max(descent_.page_size()));
  ExclusivePage leaf = descent_.leaf<ExclusivePage>(Target{key});
  const LeafView view(leaf.page(), descent_.page_size());
  if (view.bulk_epoch() != epoch || to_resolve(by, leaf, key) != ToResolve::one_record) {
    LeafEntries(leaf, descent_.page_size()).release_unwritten();
    return;
  }
  RecordChange change(by, leaf, descent_.pool().space(), key, descent_.page_size());
  change.keep_before_image(*late);
  PALIMPSEST_SYNC_POINT("btree.resolve.kept_late");
  const SlotIndex slot = change.slot();
  Gsn gsn{};
  static_cast<void>(
      resolve_and_log(by, leaf, descent_.pool(), {&slot, 1}, Resolution::kept, epoch, gsn));
  change.finish();
  leaf.release();
}

bool VirtualVersionResolver::resolve_all(const WriteContext& by, ByteView key) const {
  if (!by.try_prepare_structure_change(descent_.page_size())) {
    return false;
  }
  resolve_prepared(by, key);
  return true;
}

}  // namespace palimpsest::btree
