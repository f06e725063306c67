#include "versioning/bulk_epochs.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"

namespace palimpsest::versioning {
namespace {

constexpr Gsn kNewest{std::numeric_limits<std::uint64_t>::max() >> 3U};

}  // namespace

// There are no readers any more.
BulkEpochs::~BulkEpochs() {
  for (const auto& [epoch, late] : late_) {
    if (late->versions != nullptr) {
      late->versions->collect(kNewest);
    }
  }
  for (const std::atomic<Segment*>& segment : segments_) {
    if (Segment* const made = segment.load(std::memory_order_relaxed)) {
      std::destroy_at(made);
      memory_.deallocate(made, sizeof(Segment));
    }
  }
}

Visibility BulkEpochs::at(BulkEpoch epoch, const ReadView* read_view) const noexcept {
  if (epoch == kNoEpoch || (read_view != nullptr && read_view->bulk == epoch)) {
    return Visibility::visible;
  }
  const Place* const place = place_of(epoch);
  if (place == nullptr || place->epoch.load(std::memory_order_acquire) != epoch) {
    return Visibility::visible;
  }
  PALIMPSEST_SYNC_POINT("versioning.bulk.found");
  const Visibility visibility =
      place->commit_status.at(read_view == nullptr ? kNewest : read_view->snapshot);
  // Acquires: a thread that took the epoch out for a cancelled snapshot had cancelled that first.
  return place->epoch.load(std::memory_order_acquire) == epoch ? visibility : Visibility::visible;
}

BulkEpochs::State BulkEpochs::state(BulkEpoch epoch) const noexcept {
  const Place* const place = epoch == kNoEpoch ? nullptr : place_of(epoch);
  if (place == nullptr || place->epoch.load(std::memory_order_acquire) != epoch) {
    return State::retired;
  }
  const State state = place->commit_status.is_committed() ? State::committed
                      : place->commit_status.is_aborted() ? State::aborted
                                                          : State::running;
  return place->epoch.load(std::memory_order_relaxed) == epoch ? state : State::retired;
}

// First looks for a free place in an existing segment, skipping missing and full segments as a
// whole; then takes the first missing segment.
std::optional<BulkEpoch> BulkEpochs::next_free(BulkEpoch from) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto first_in = [&](auto&& wanted) -> std::optional<BulkEpoch> {
    std::uint64_t epoch = raw(from);
    while (epoch < raw(from) + kPlacesMax) {
      if (wanted(BulkEpoch{epoch})) {
        return BulkEpoch{epoch};
      }
      const std::size_t segment = segment_of(BulkEpoch{epoch});
      const bool has_free = segments_[segment].load(std::memory_order_relaxed) != nullptr &&
                            taken_[segment] < kSegmentPlaces;
      epoch += has_free ? 1 : kSegmentPlaces - epoch % kSegmentPlaces;
    }
    return std::nullopt;
  };
  if (const auto free = first_in([&](BulkEpoch epoch) {
        const Place* const place = place_of(epoch);
        return place != nullptr && place->epoch.load(std::memory_order_relaxed) == kNoEpoch;
      })) {
    return free;
  }
  return first_in([&](BulkEpoch epoch) { return place_of(epoch) == nullptr; });
}

BulkEpochs::Place& BulkEpochs::make_place(BulkEpoch epoch) {
  if (place_of(epoch) == nullptr) {
    auto* const segment = new (memory_.allocate(sizeof(Segment))) Segment();
    segments_[segment_of(epoch)].store(segment, std::memory_order_release);
  }
  return *place_of(epoch);
}

CommitStatus& BulkEpochs::begin(BulkEpoch epoch) {
  const std::lock_guard lock(mutex_);
  Place& place = make_place(epoch);
  if (const BulkEpoch there = place.epoch.load(std::memory_order_relaxed); there != kNoEpoch) {
    throw Error(ErrorCode::too_many_bulks,
                fmt::format("bulk {} is not retired yet, but bulk {} needs its place among {}: too "
                            "many bulks at a time",
                            raw(there), raw(epoch), kPlacesMax));
  }
  place.commit_status.begin();  // a release behind the epoch that was taken out
  place.epoch.store(epoch, std::memory_order_release);
  ++taken_[segment_of(epoch)];
  entered_.fetch_add(1, std::memory_order_relaxed);
  return place.commit_status;
}

void BulkEpochs::take_out(Place& place) noexcept {
  --taken_[segment_of(place.epoch.load(std::memory_order_relaxed))];
  place.epoch.store(kNoEpoch, std::memory_order_release);
  entered_.fetch_sub(1, std::memory_order_relaxed);
}

void BulkEpochs::forget(BulkEpoch epoch) noexcept {
  const std::lock_guard lock(mutex_);
  Place* const place = place_of(epoch);
  if (place != nullptr && place->epoch.load(std::memory_order_relaxed) == epoch) {
    take_out(*place);
  }
}

void BulkEpochs::retire(Gsn horizon) noexcept {
  if (is_empty()) [[likely]] {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t number = 0; number < kSegments; ++number) {
    if (taken_[number] == 0) {
      continue;
    }
    for (Place& place : *segments_[number].load(std::memory_order_relaxed)) {
      const BulkEpoch epoch = place.epoch.load(std::memory_order_relaxed);
      if (epoch != kNoEpoch && place.commit_status.is_committed() &&
          place.commit_status.at(horizon) == Visibility::visible &&
          give_back_late(epoch, horizon)) {
        take_out(place);
      }
    }
  }
}

/// False if a thread is making a late version: the next retire() tries again.
bool BulkEpochs::give_back_late(BulkEpoch epoch, Gsn horizon) noexcept {
  const auto found = late_.find(epoch);
  if (found == late_.end()) {
    return true;
  }
  const std::shared_ptr<Late::Versions> late = found->second;
  const std::unique_lock turn(late->turn, std::try_to_lock);
  if (!turn.owns_lock()) {
    return false;
  }
  if (late->versions != nullptr) {
    late->versions->collect(horizon);
    late->versions.reset();
  }
  late_.erase(found);
  return true;
}

// The bulk may retire between looking at the list and locking `turn`; it has left the list then.
std::optional<BulkEpochs::Late> BulkEpochs::late_versions(BulkEpoch epoch) {
  std::shared_ptr<Late::Versions> late;
  {
    const std::lock_guard lock(mutex_);
    if (state(epoch) != State::committed) {
      return std::nullopt;
    }
    std::shared_ptr<Late::Versions>& entered = late_[epoch];
    if (entered == nullptr) {
      entered = std::make_shared<Late::Versions>();
    }
    late = entered;
  }
  std::unique_lock turn(late->turn);
  if (state(epoch) != State::committed) {
    return std::nullopt;
  }
  if (late->versions == nullptr) {
    late->versions = std::make_unique<VersionBuffer>(memory_);
  }
  const Gsn date = place_of(epoch)->commit_status.timestamp();
  return Late(std::move(late), date, std::move(turn));
}

}  // namespace palimpsest::versioning
