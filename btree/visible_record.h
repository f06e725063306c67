// The version of a record in a latched leaf that a read view sees.
//
// Latching: the leaf stays latched, shared at least. While a commit status is undecided,
//           seen_record() spins with the leaf latched, but with no chain's latch: the committer
//           takes no latch in that window, which lasts a few of its own instructions. Optimistic
//           readers hold no latch, and restart.
// Thread-safety: any thread.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "btree/leaf_entries.h"
#include "btree/leaf_walk.h"
#include "btree/node/leaf_node.h"
#include "btree/node/record_image.h"
#include "btree/node/span_marks.h"
#include "btree/tree_results.h"
#include "buffer/frame.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

/// Whether a record of the table has a newest change that the read view does not see.
[[nodiscard]] bool any_changed_since(const versioning::MappingTable& table,
                                     const versioning::ReadView& read_view);
/// any_changed_since() for one key.
[[nodiscard]] bool has_changed_since(const versioning::MappingTable& table, ByteView key,
                                     const versioning::ReadView& read_view);
/// has_changed_since() for a record of a latched leaf.
[[nodiscard]] inline bool has_changed_since(const buffer::Frame& frame, ByteView key,
                                            const versioning::ReadView& read_view) {
  const versioning::MappingTable* const table = table_of(frame);
  return table != nullptr && has_changed_since(*table, key, read_view);
}

/// [optimistic] Whether the leaf is stable for the read view: every transaction that left a version
/// there had ended before the snapshot was taken. So the reader sees the newest version of each
/// record and undoes none (versioning/snapshots.h).
[[nodiscard]] inline bool is_stable(const buffer::Frame& frame,
                                    const versioning::ReadView& read_view) noexcept {
  return frame.youngest.load(std::memory_order_relaxed) < read_view.stable;
}

/// Whether the read view sees all records of a leaf as they lie there; null: the newest state.
[[nodiscard]] inline bool sees_as_it_lies(const Descent& descent, const buffer::Frame& frame,
                                          const LeafView& leaf,
                                          const versioning::ReadView* read_view) noexcept {
  if (leaf.bulk_epoch() != kNoEpoch &&
      (leaf.shadow_count() != 0 || descent.visibility_of(leaf.bulk_epoch(), read_view) !=
                                       versioning::Visibility::visible)) [[unlikely]] {
    return false;
  }
  const versioning::MappingTable* const table = read_view == nullptr ? nullptr : table_of(frame);
  if (table == nullptr || is_stable(frame, *read_view)) {
    PALIMPSEST_DEBUG_CHECK(table == nullptr || !any_changed_since(*table, *read_view),
                           "a read view sees the newest state of records that are stable for it");
    return true;
  }
  return table->is_quiet_at(read_view->snapshot);
}

/// The record's entry, if it has versions that the read view may have to look at; none is added
/// while the leaf is latched. Null: the read view sees the record as it lies there.
[[nodiscard]] inline const versioning::Entry* entry_with_versions(
    const buffer::Frame& frame, ByteView key, const versioning::ReadView& read_view) noexcept {
  const versioning::MappingTable* const table = table_of(frame);
  if (table == nullptr || table->is_known_quiet_at(read_view.snapshot)) {
    return nullptr;
  }
  if (is_stable(frame, read_view)) {
    PALIMPSEST_DEBUG_CHECK(!has_changed_since(*table, key, read_view),
                           "a read view sees the newest state of records that are stable for it");
    return nullptr;
  }
  const versioning::Entry* const entry = table->find(key);
  return entry != nullptr && entry->has_versions() ? entry : nullptr;
}

/// The earlier states of a record.
struct Past {
  const versioning::Entry* entry = nullptr;  ///< with its versions
  /// The state before the oldest version: a span that the read view does not see.
  std::optional<versioning::SpanKind> before;

  [[nodiscard]] bool is_none() const noexcept { return entry == nullptr && !before; }
};

/// The past of the record in this slot of a latched leaf, for readers that must look at versions.
[[nodiscard]] inline Past past_of(const buffer::Frame& frame, const LeafView& leaf, SlotIndex slot,
                                  ByteView key, const versioning::ReadView& read_view) noexcept {
  return {.entry = entry_with_versions(frame, key, read_view),
          .before = span_hiding(table_of(frame), leaf.flags(slot), read_view.snapshot)};
}

/// The record in a slot with this past, as the read view sees it; its value lies in `memory`.
/// Without a read view there is no past: the newest state.
[[nodiscard]] RecordImage seen_record(const Descent& descent, const LeafView& leaf, SlotIndex slot,
                                      const Past& past, const versioning::ReadView* read_view,
                                      ValueBuffer& memory) noexcept;

/// [optimistic] Looks up a record with a virtual version. If Found::has_versions is set, it must be
/// looked at under the latch.
[[nodiscard]] Attempt<Found> visible_virtual(const Descent& descent, const LeafView& leaf,
                                             SlotIndex slot, const Look& look,
                                             ValueBuffer& value) noexcept;

/// Whether any record of the tree, still there or not, has changed since the snapshot.
[[nodiscard]] bool any_changed_since(const Descent& descent, const versioning::ReadView& read_view);

/// Calls show(slot, record) for each record of [first, last) that the read view sees, ascending or
/// descending, until it returns false; returns whether it never did. Views live during the call.
template <class Show>
bool for_each_visible(const Descent& descent, const buffer::Frame& frame, const LeafView& leaf,
                      SlotIndex first, SlotIndex last, bool descending,
                      const versioning::ReadView* read_view, Show&& show) {
  ValueBuffer memory;
  KeyBuffer key;
  for (SlotIndex number = 0; number < last - first; ++number) {
    const SlotIndex slot = descending ? last - 1 - number : first + number;
    const LeafRecord record = leaf.record(slot);
    Past past;
    if (read_view != nullptr && (record.flags & kHasEntry) != 0) {
      leaf.copy_key(slot, key);
      past = past_of(frame, leaf, slot, key.view(), *read_view);
    }
    if (past.is_none() && (record.flags & kVirtual) == 0) {
      if ((record.flags & kGhost) == 0 && !show(slot, record)) {
        return false;
      }
      continue;
    }
    const RecordImage seen = seen_record(descent, leaf, slot, past, read_view, memory);
    if (seen.exists() &&
        !show(slot,
              LeafRecord{.suffix = record.suffix, .value = seen.value(), .flags = seen.flags()})) {
      return false;
    }
  }
  return true;
}

/// As visit_leaves(), with the records that the read view sees: visit(leaf, first, last) for runs
/// of records that are seen as they lie there, visit_one(leaf, record) for each that may have
/// versions, in order. Calls passed(walk) for each leaf after its last record, still latched.
template <class Visit, class VisitOne, class Passed>
void visit_visible(const Descent& descent, const KeyRange& range, Direction direction,
                   const versioning::ReadView* read_view, Visit&& visit, VisitOne&& visit_one,
                   Passed&& passed) {
  const bool descending = direction == Direction::backward;
  LeafWalk walk(descent, range, direction);
  while (walk.next()) {
    const LeafView leaf = walk.leaf();
    const bool goes_on =
        !sees_as_it_lies(descent, walk.frame(), leaf, read_view)
            ? for_each_visible(
                  descent, walk.frame(), leaf, walk.first(), walk.last(), descending, read_view,
                  [&](SlotIndex, const LeafRecord& record) { return visit_one(leaf, record); })
            : for_each_live_run(
                  leaf, walk.first(), walk.last(), descending,
                  [&](SlotIndex first, SlotIndex last) { return visit(leaf, first, last); });
    if (!goes_on) {
      return;
    }
    passed(walk);
  }
}
template <class Visit, class VisitOne>
void visit_visible(const Descent& descent, const KeyRange& range, Direction direction,
                   const versioning::ReadView* read_view, Visit&& visit, VisitOne&& visit_one) {
  visit_visible(descent, range, direction, read_view, visit, visit_one, [](const LeafWalk&) {});
}

}  // namespace palimpsest::btree
