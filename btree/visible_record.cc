#include "btree/visible_record.h"

#include "base/spin_wait.h"
#include "base/sync_point.h"
#include "btree/leaf_entries.h"

namespace palimpsest::btree {

using versioning::Looked;
using versioning::SpanKind;
using versioning::Visibility;

namespace {

/// Undoes the span, which is older than the oldest version.
void take_back_span(std::optional<SpanKind> span, RecordImage& image) noexcept {
  if (span == SpanKind::made) {
    image.take_away();
  } else if (span == SpanKind::removed) {
    image.set_flags(static_cast<std::uint16_t>(image.flags() & ~kGhost));
  }
}

/// Undoes what the read view does not see. False: not decided yet.
bool take_back(const Past& past, const versioning::ReadView* read_view,
               RecordImage& image) noexcept {
  const Looked looked = past.entry == nullptr
                            ? Looked::at_its_end
                            : versioning::look_back(*past.entry, *read_view, image);
  if (looked == Looked::at_its_end) {
    take_back_span(past.before, image);
  }
  return looked != Looked::undecided;
}

}  // namespace

// All versions are older than a bulk's change.
RecordImage seen_record(const Descent& descent, const LeafView& leaf, SlotIndex slot,
                        const Past& past, const versioning::ReadView* read_view,
                        ValueBuffer& memory) noexcept {
  const RecordState stored{leaf.value(slot), leaf.flags(slot)};
  for (SpinWait wait;; wait.once()) {
    const Visibility visibility = (stored.flags & kVirtual) == 0
                                      ? Visibility::visible
                                      : descent.visibility_of(leaf.bulk_epoch(), read_view);
    RecordImage image(visibility == Visibility::visible ? now_of(stored) : before_of(stored),
                      memory);
    if (visibility != Visibility::undecided && take_back(past, read_view, image)) {
      return image;
    }
    PALIMPSEST_SYNC_POINT("btree.read.undecided");
  }
}

Attempt<Found> visible_virtual(const Descent& descent, const LeafView& leaf, SlotIndex slot,
                               const Look& look, ValueBuffer& value) noexcept {
  const RecordState stored{leaf.value(slot), leaf.flags(slot)};
  const bool has_entry = (stored.flags & kHasEntry) != 0;
  if (look.minds_versions && (has_entry || look.read_view == nullptr)) {
    return Found{.has_versions = true};
  }
  const Visibility visibility = descent.visibility_of(leaf.bulk_epoch(), look.read_view);
  if (visibility == Visibility::undecided) {
    PALIMPSEST_SYNC_POINT("btree.read.undecided");
    return restart;
  }
  const auto seen = visibility == Visibility::visible ? now_of(stored) : before_of(stored);
  if (!seen || (seen->flags & kGhost) != 0) {
    return Found{};
  }
  value.assign_clamped(seen->value);
  return Found{.exists = true, .flags = seen->flags};
}

bool any_changed_since(const versioning::MappingTable& table,
                       const versioning::ReadView& read_view) {
  bool any = table.spans() != nullptr && table.spans()->newest() > read_view.snapshot;
  table.visit([&](const versioning::Entry& entry) {
    any = any || versioning::has_changed_since(entry, read_view);
  });
  return any;
}

bool has_changed_since(const versioning::MappingTable& table, ByteView key,
                       const versioning::ReadView& read_view) {
  const versioning::Entry* const entry = table.find(key);
  return entry != nullptr && versioning::has_changed_since(*entry, read_view);
}

bool any_changed_since(const Descent& descent, const versioning::ReadView& read_view) {
  bool any = false;
  LeafWalk walk(descent, {ByteView(), std::nullopt}, Direction::forward);
  while (!any && walk.next()) {
    any = descent.has_committed_since(walk.leaf().bulk_epoch(), read_view);
    const versioning::MappingTable* const table = table_of(walk.frame());
    any = any || (table != nullptr && any_changed_since(*table, read_view));
  }
  return any;
}

}  // namespace palimpsest::btree
