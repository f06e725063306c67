// What a viewer sees of a record that lies in a latched leaf.
//
// Latching: the leaf is latched, shared at least, throughout; while a commit is being decided the
//           caller waits with it: the committer takes no latch there, and is done in a few
//           instructions of its own.
// Thread-safety: any thread.
#pragma once

#include "base/bytes.h"
#include "btree/leaf_entries.h"
#include "btree/leaf_node.h"
#include "btree/leaf_walk.h"
#include "btree/record_image.h"
#include "buffer/frame.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

/// Whether a record has to be looked at: it may have versions.
[[nodiscard]] inline bool may_have_versions(const LeafView& leaf, SlotIndex slot) noexcept {
  return (leaf.flags(slot) & kHasEntry) != 0;
}

/// Whether all records of a leaf are, to this viewer, as they lie there.
[[nodiscard]] inline bool sees_as_it_lies(const buffer::Frame& frame,
                                          const versioning::Viewer& viewer) noexcept {
  const versioning::MappingTable* const table = table_of(frame);
  return table == nullptr || table->is_quiet_at(viewer.snapshot);
}

/// The entry of the record with this key, if it has versions that the viewer may have to look at:
/// nobody adds some meanwhile. Else he sees the record as it lies there.
[[nodiscard]] inline const versioning::Entry* entry_with_versions(
    const buffer::Frame& frame, ByteView key, const versioning::Viewer& viewer) noexcept {
  const versioning::MappingTable* const table = table_of(frame);
  if (table == nullptr || table->is_known_quiet_at(viewer.snapshot)) {
    return nullptr;
  }
  const versioning::Entry* const entry = table->find(key);
  return entry != nullptr && entry->has_versions() ? entry : nullptr;
}

/// The record in a slot whose entry this is, or null, as the viewer sees it; its value lies in
/// `memory`.
[[nodiscard]] RecordImage seen_record(const LeafView& leaf, SlotIndex slot,
                                      const versioning::Entry* entry,
                                      const versioning::Viewer& viewer,
                                      ValueBuffer& memory) noexcept;

/// Whether any record, there or not, has changed since the viewer's snapshot.
[[nodiscard]] bool any_changed_since(const Descent& descent, const versioning::Viewer& viewer);

/// Calls show(slot, record) for each record of [first, last) that the viewer sees, ascending
/// or descending, until it returns false; whether it never did. Views live during the call.
template <class Show>
bool for_each_seen(const buffer::Frame& frame, const LeafView& leaf, SlotIndex first,
                   SlotIndex last, bool descending, const versioning::Viewer& viewer, Show&& show) {
  ValueBuffer memory;
  KeyBuffer key;
  for (SlotIndex number = 0; number < last - first; ++number) {
    const SlotIndex slot = descending ? last - 1 - number : first + number;
    const LeafRecord record = leaf.record(slot);
    const versioning::Entry* entry = nullptr;
    if (may_have_versions(leaf, slot)) {
      leaf.copy_key(slot, key);
      entry = entry_with_versions(frame, key.view(), viewer);
    }
    if (entry == nullptr) {
      if (!leaf.is_ghost(slot) && !show(slot, record)) {
        return false;
      }
      continue;
    }
    const RecordImage seen = seen_record(leaf, slot, entry, viewer, memory);
    if (seen.exists() &&
        !show(slot,
              LeafRecord{.suffix = record.suffix, .value = seen.value(), .flags = seen.flags()})) {
      return false;
    }
  }
  return true;
}

/// As visit_leaves(), as the viewer sees the records: visit(leaf, first, last) for runs of them
/// that are as they lie there, visit_one(leaf, record) for each that may have versions, in order.
template <class Visit, class VisitOne>
void visit_seen(const Descent& descent, const KeyRange& range, Direction direction,
                const versioning::Viewer* viewer, Visit&& visit, VisitOne&& visit_one) {
  const bool descending = direction == Direction::backward;
  LeafWalk walk(descent, range, direction);
  while (walk.next()) {
    const LeafView leaf = walk.leaf();
    const bool goes_on =
        viewer != nullptr && !sees_as_it_lies(walk.frame(), *viewer)
            ? for_each_seen(
                  walk.frame(), leaf, walk.first(), walk.last(), descending, *viewer,
                  [&](SlotIndex, const LeafRecord& record) { return visit_one(leaf, record); })
            : for_each_live_run(
                  leaf, walk.first(), walk.last(), descending,
                  [&](SlotIndex first, SlotIndex last) { return visit(leaf, first, last); });
    if (!goes_on) {
      return;
    }
  }
}

}  // namespace palimpsest::btree
