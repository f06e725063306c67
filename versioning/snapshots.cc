#include "versioning/snapshots.h"

#include <algorithm>

#include "base/sync_point.h"

namespace palimpsest::versioning {

Snapshots::Snapshots(const Clock& clock, const WorkerSlots& slots)
    : clock_(clock), slots_(slots), places_(std::make_unique<Place[]>(slots.slots_max())) {}

Gsn Snapshots::take(SlotId slot, Use use) noexcept {
  const std::uint64_t mark = use == Use::reads ? kReads : 0;
  Place& place = places_[raw(slot)];
  place.word.store(raw(clock_.now()) << kMarkBits | mark | kLowerBound);  // (T1)
  PALIMPSEST_SYNC_POINT("versioning.snapshot.marked");
  const Gsn snapshot = clock_.now();  // (T2)
  PALIMPSEST_SYNC_POINT("versioning.snapshot.read");
  place.word.store(raw(snapshot) << kMarkBits | mark, std::memory_order_release);  // (T3)
  return snapshot;
}

bool Snapshots::cancel(SlotId slot, Gsn snapshot) noexcept {
  if ((places_[raw(slot)].word.load() & ~kReads) != raw(snapshot) << kMarkBits) {
    return false;
  }
  PALIMPSEST_SYNC_POINT("versioning.snapshot.cancelling");
  note_cancelled(slot, snapshot);
  return true;
}

// A slot's snapshots do not fall: one that is cancelled late is no newer one's.
void Snapshots::note_cancelled(SlotId slot, Gsn snapshot) noexcept {
  std::atomic<std::uint64_t>& cancelled = places_[raw(slot)].cancelled;
  std::uint64_t newest = cancelled.load();
  while (newest < raw(snapshot) && !cancelled.compare_exchange_weak(newest, raw(snapshot))) {
  }
}

template <class Visit>
Gsn Snapshots::for_each(Visit&& visit) const {
  const Gsn clock = clock_.now();                             // (H1)
  const std::uint32_t count = slots_.count();                 // (H2)
  for (std::uint32_t number = 0; number < count; ++number) {  // (H3)
    const Place& place = places_[number];
    const std::uint64_t word = place.word.load();
    if (word != kFree && (word & ~kReads) != place.cancelled.load() << kMarkBits) {
      visit(SlotId{number}, word);
    }
  }
  return clock;
}

Gsn Snapshots::horizon(SlotId except) const noexcept {
  std::uint64_t least = kFree;
  const Gsn clock = for_each([&](SlotId slot, std::uint64_t word) {
    least = slot == except ? least : std::min(least, word >> kMarkBits);
  });
  return std::min(clock, Gsn{least});
}

void Snapshots::scan(Scan& into) const {
  constexpr Gsn kNone{std::numeric_limits<std::uint64_t>::max()};
  into.in_use.clear();
  into.being_taken = into.oldest_writer = kNone;
  into.clock = for_each([&](SlotId, std::uint64_t word) {
    const Gsn snapshot{word >> kMarkBits};
    if ((word & kLowerBound) != 0) {
      into.being_taken = std::min(into.being_taken, snapshot);
    } else {
      into.in_use.push_back(snapshot);
    }
    if ((word & kReads) == 0) {
      into.oldest_writer = std::min(into.oldest_writer, snapshot);
    }
  });
  std::ranges::sort(into.in_use);
}

std::optional<Snapshots::Oldest> Snapshots::oldest() const noexcept {
  std::optional<Oldest> found;
  static_cast<void>(for_each([&](SlotId slot, std::uint64_t word) {
    const Gsn snapshot{word >> kMarkBits};
    if ((word & kLowerBound) == 0 && (!found || snapshot < found->snapshot)) {
      found = Oldest{slot, snapshot};
    }
  }));
  return found;
}

}  // namespace palimpsest::versioning
