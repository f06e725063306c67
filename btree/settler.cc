#include "btree/settler.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "btree/leaf_entries.h"
#include "btree/node/settle.h"
#include "btree/record_change.h"

namespace palimpsest::btree {

using buffer::ExclusivePage;
using versioning::Sight;
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

/// Logs it, does it, and returns what nobody names any more. Caller has made sure of a system
/// record.
std::vector<LargeValueDescriptor> settle_and_log(const WriteContext& by, ExclusivePage& leaf,
                                                 buffer::BufferPool& pool,
                                                 std::span<const SlotIndex> slots, Settling how,
                                                 BulkEpoch epoch, Gsn& gsn) {
  const std::uint32_t page_size = pool.page_size_bytes();
  const LeafView view(leaf.page(), page_size);
  std::vector<LargeValueDescriptor> given_up;
  for (const SlotIndex slot : slots) {
    if (const auto descriptor = given_up_by_settling(view, slot, how)) {
      given_up.push_back(LargeValueDescriptor::decode(*descriptor, page_size));
    }
  }
  std::byte* const page = leaf.modify();
  if (by.log != nullptr) {
    auto space = pool.space().change();
    gsn = log_system_change(by, gsn_of(page),
                            LoggedSettle{.leaf = view, .slots = slots, .how = how, .epoch = epoch});
    for (const LargeValueDescriptor& large : given_up) {
      for (const buffer::PageRun& run : large.runs()) {
        space.give(run, gsn);
      }
    }
    set_gsn(leaf, gsn);
  }
  settle_records(LeafNode(page, page_size), slots, how, epoch);
  return given_up;
}

}  // namespace

// What stands between a writer and a record of this leaf, and can be done away with.
Settler::ToSettle Settler::to_settle(const WriteContext& by, const ExclusivePage& leaf,
                                     ByteView key) const {
  const LeafView view(leaf.page(), descent_.page_size());
  const BulkEpoch epoch = view.bulk_epoch();
  if (epoch == by.viewer.bulk) [[likely]] {
    return ToSettle::nothing;
  }
  switch (descent_.epochs() == nullptr ? State::settled : descent_.epochs()->state(epoch)) {
    case State::settled: return ToSettle::keep;
    case State::aborted: return ToSettle::undo;
    case State::running: return ToSettle::nothing;
    case State::committed: break;
  }
  if (by.is_bulk()) {
    return slots_with_virtual_versions(view).empty() ? ToSettle::keep : ToSettle::nothing;
  }
  const SearchResult at = view.find(key);
  const bool can_keep = at.found && has_virtual_version(view, at.slot) && by.versions != nullptr &&
                        (view.flags(at.slot) & kShadowLarge) == 0 &&
                        descent_.sight_of(epoch, &by.viewer) == Sight::visible;
  return can_keep ? ToSettle::one_record : ToSettle::nothing;
}

// The leaf is let go first: making sure of log and memory may wait.
void Settler::settle_for(const WriteContext& by, ExclusivePage leaf, ByteView key) const {
  const bool one_record = to_settle(by, leaf, key) == ToSettle::one_record;
  const BulkEpoch epoch = LeafView(leaf.page(), descent_.page_size()).bulk_epoch();
  LeafEntries(leaf, descent_.page_size()).release_unwritten();
  by.prepare_settling(key, descent_.page_size());
  if (one_record) {
    settle_one(by, key, epoch);
  } else {
    settle_prepared(by, key);
  }
}

void Settler::settle_prepared(const WriteContext& by, ByteView key) const {
  ExclusivePage leaf = descent_.leaf<ExclusivePage>(Target{key});
  const ToSettle what = to_settle(by, leaf, key);
  if (what != ToSettle::keep && what != ToSettle::undo) {
    LeafEntries(leaf, descent_.page_size()).release_unwritten();
    return;  // somebody else has done it
  }
  const auto slots = slots_with_virtual_versions(LeafView(leaf.page(), descent_.page_size()));
  Gsn gsn{};
  const auto given_up = settle_and_log(by, leaf, descent_.pool(), slots,
                                       what == ToSettle::keep ? Settling::kept : Settling::undone,
                                       by.viewer.bulk, gsn);
  leaf.release();
  for (const LargeValueDescriptor& large : given_up) {
    for (const buffer::PageRun& run : large.runs()) {
      descent_.pool().space().free_when_durable(run, gsn);
    }
  }
}

// Older snapshots see the rest of the leaf as it was; of this record they have a version now.
void Settler::settle_one(const WriteContext& by, ByteView key, BulkEpoch epoch) const {
  auto late = descent_.epochs()->late_versions(epoch);
  if (!late) {
    return;  // settled meanwhile: all of the leaf can be
  }
  late->prepare(record_bytes_max(descent_.page_size()));
  ExclusivePage leaf = descent_.leaf<ExclusivePage>(Target{key});
  const LeafView view(leaf.page(), descent_.page_size());
  if (view.bulk_epoch() != epoch || to_settle(by, leaf, key) != ToSettle::one_record) {
    LeafEntries(leaf, descent_.page_size()).release_unwritten();
    return;
  }
  RecordChange change(by, leaf, descent_.pool().space(), key, descent_.page_size());
  change.keep_late(*late);
  PALIMPSEST_SYNC_POINT("btree.settle.kept_late");
  const SlotIndex slot = change.slot();
  Gsn gsn{};
  static_cast<void>(
      settle_and_log(by, leaf, descent_.pool(), {&slot, 1}, Settling::kept, epoch, gsn));
  change.finish();
  leaf.release();
}

bool Settler::settle_all(const WriteContext& by, ByteView key) const {
  if (!by.try_prepare_structure_change(descent_.page_size())) {
    return false;
  }
  settle_prepared(by, key);
  return true;
}

}  // namespace palimpsest::btree
