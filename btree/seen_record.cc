#include "btree/seen_record.h"

#include "base/spin_wait.h"
#include "base/sync_point.h"
#include "btree/leaf_entries.h"

namespace palimpsest::btree {

using versioning::Looked;
using versioning::Sight;
using versioning::SpanKind;

namespace {

/// What was before the oldest version.
void take_back_span(std::optional<SpanKind> span, RecordImage& image) noexcept {
  if (span == SpanKind::made) {
    image.take_away();
  } else if (span == SpanKind::buried) {
    image.set_flags(static_cast<std::uint16_t>(image.flags() & ~kGhost));
  }
}

/// Whether it is decided what the viewer sees.
bool take_back(const Past& past, const versioning::Viewer* viewer, RecordImage& image) noexcept {
  const Looked looked = past.entry == nullptr ? Looked::at_its_end
                                              : versioning::look_back(*past.entry, *viewer, image);
  if (looked == Looked::at_its_end) {
    take_back_span(past.before, image);
  }
  return looked != Looked::undecided;
}

}  // namespace

// Versions are older than what a bulk has done.
RecordImage seen_record(const Descent& descent, const LeafView& leaf, SlotIndex slot,
                        const Past& past, const versioning::Viewer* viewer,
                        ValueBuffer& memory) noexcept {
  const RecordState stored{leaf.value(slot), leaf.flags(slot)};
  for (SpinWait wait;; wait.once()) {
    const Sight sight = (stored.flags & kVirtual) == 0
                            ? Sight::visible
                            : descent.sight_of(leaf.bulk_epoch(), viewer);
    RecordImage image(sight == Sight::visible ? now_of(stored) : before_of(stored), memory);
    if (sight != Sight::undecided && take_back(past, viewer, image)) {
      return image;
    }
    PALIMPSEST_SYNC_POINT("btree.read.undecided");
  }
}

Attempt<Found> seen_virtual(const Descent& descent, const LeafView& leaf, SlotIndex slot,
                            const Look& look, ValueBuffer& value) noexcept {
  const RecordState stored{leaf.value(slot), leaf.flags(slot)};
  const bool has_entry = (stored.flags & kHasEntry) != 0;
  if (look.minds_versions && (has_entry || look.viewer == nullptr)) {
    return Found{.has_versions = true};
  }
  const Sight sight = descent.sight_of(leaf.bulk_epoch(), look.viewer);
  if (sight == Sight::undecided) {
    PALIMPSEST_SYNC_POINT("btree.read.undecided");
    return restart;
  }
  const auto seen = sight == Sight::visible ? now_of(stored) : before_of(stored);
  if (!seen || (seen->flags & kGhost) != 0) {
    return Found{};
  }
  value.assign_clamped(seen->value);
  return Found{.exists = true, .flags = seen->flags};
}

bool any_changed_since(const versioning::MappingTable& table, const versioning::Viewer& viewer) {
  bool any = table.spans() != nullptr && table.spans()->newest() > viewer.snapshot;
  table.visit([&](const versioning::Entry& entry) {
    any = any || versioning::has_changed_since(entry, viewer);
  });
  return any;
}

bool has_changed_since(const versioning::MappingTable& table, ByteView key,
                       const versioning::Viewer& viewer) {
  const versioning::Entry* const entry = table.find(key);
  return entry != nullptr && versioning::has_changed_since(*entry, viewer);
}

bool any_changed_since(const Descent& descent, const versioning::Viewer& viewer) {
  bool any = false;
  LeafWalk walk(descent, {ByteView(), std::nullopt}, Direction::forward);
  while (!any && walk.next()) {
    any = descent.has_committed_since(walk.leaf().bulk_epoch(), viewer);
    const versioning::MappingTable* const table = table_of(walk.frame());
    any = any || (table != nullptr && any_changed_since(*table, viewer));
  }
  return any;
}

}  // namespace palimpsest::btree
