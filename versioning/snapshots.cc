#include "versioning/snapshots.h"

#include <algorithm>

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::versioning {

Snapshots::Snapshots(const Clock& clock, const WorkerSlots& slots)
    : clock_(clock), slots_(slots), places_(std::make_unique<Place[]>(slots.slots_max())) {}

Gsn Snapshots::take(SlotId slot, Use use) noexcept {
  const std::uint64_t mark = use == Use::reads ? kReads : 0;
  Place& place = places_[raw(slot)];
  if (place.takes >= slots_.count()) {  // rarely, so that a snapshot costs a line of memory or two
    static_cast<void>(look(slot));
  }
  ++place.takes;
  place.word.store(raw(clock_.now()) << kMarkBits | mark | kLowerBound);  // (T1)
  PALIMPSEST_SYNC_POINT("versioning.snapshot.marked");
  const Gsn snapshot = clock_.now();  // (T2)
  PALIMPSEST_SYNC_POINT("versioning.snapshot.read");
  place.word.store(raw(snapshot) << kMarkBits | mark, std::memory_order_release);  // (T3)
  return snapshot;
}

Gsn Snapshots::begin_changes(SlotId slot) noexcept {
  std::atomic<std::uint64_t>& started = places_[raw(slot)].started;
  PALIMPSEST_DEBUG_CHECK(started.load(std::memory_order_relaxed) == kFree,
                         "a transaction begins its changes only once");
  const Gsn lower = clock_.now();
  PALIMPSEST_SYNC_POINT("versioning.start.read");
  started.store(raw(lower));  // (W1)
  PALIMPSEST_SYNC_POINT("versioning.start.published");
  return clock_.now();  // (W2)
}

bool Snapshots::cancel(SlotId slot, Gsn snapshot) noexcept {
  if ((places_[raw(slot)].word.load() & ~kReads) != raw(snapshot) << kMarkBits) {
    return false;
  }
  PALIMPSEST_SYNC_POINT("versioning.snapshot.cancelling");
  note_cancelled(slot, snapshot);
  return true;
}

// A slot's snapshots never fall, so a late cancellation cannot hit a newer one.
void Snapshots::note_cancelled(SlotId slot, Gsn snapshot) noexcept {
  std::atomic<std::uint64_t>& cancelled = places_[raw(slot)].cancelled;
  std::uint64_t newest = cancelled.load();
  while (newest < raw(snapshot) && !cancelled.compare_exchange_weak(newest, raw(snapshot))) {
  }
}

template <class Visit>
Gsn Snapshots::for_each_place(Visit&& visit) const {
  const Gsn clock = clock_.now();                             // (H1, L1)
  const std::uint32_t count = slots_.count();                 // (H2, L2)
  for (std::uint32_t number = 0; number < count; ++number) {  // (H3, L3)
    const Place& place = places_[number];
    const std::uint64_t word = place.word.load();
    const bool is_cancelled = (word & ~kReads) == place.cancelled.load() << kMarkBits;
    visit(SlotId{number}, place, is_cancelled ? kFree : word);
  }
  PALIMPSEST_SYNC_POINT("versioning.look.looked");
  return clock;
}

template <class Visit>
Gsn Snapshots::for_each(Visit&& visit) const {
  return for_each_place([&](SlotId slot, const Place&, std::uint64_t word) {
    if (word != kFree) {
      visit(slot, word);
    }
  });
}

Gsn Snapshots::look(SlotId slot) noexcept {
  std::uint64_t least = kFree;
  std::uint64_t started = kFree;
  const Gsn clock = for_each_place([&](SlotId, const Place& place, std::uint64_t word) {
    least = std::min(least, word == kFree ? kFree : word >> kMarkBits);
    started = std::min(started, place.started.load());
  });
  Place& mine = places_[raw(slot)];
  mine.stable = std::min(clock, Gsn{started});
  mine.takes = 0;
  return std::min(clock, Gsn{least});
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

template <class Counts>
std::optional<Snapshots::Oldest> Snapshots::oldest_of(Counts&& counts) const noexcept {
  std::optional<Oldest> found;
  static_cast<void>(for_each([&](SlotId slot, std::uint64_t word) {
    const Gsn snapshot{word >> kMarkBits};
    if ((word & kLowerBound) == 0 && counts(word) && (!found || snapshot < found->snapshot)) {
      found = Oldest{slot, snapshot};
    }
  }));
  return found;
}

std::optional<Snapshots::Oldest> Snapshots::oldest() const noexcept {
  return oldest_of([](std::uint64_t) { return true; });
}

std::optional<Snapshots::Oldest> Snapshots::oldest_writer() const noexcept {
  return oldest_of([](std::uint64_t word) { return (word & kReads) == 0; });
}

}  // namespace palimpsest::versioning
