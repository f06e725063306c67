#include "versioning/bulk_epochs.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"

namespace palimpsest::versioning {
namespace {

constexpr Gsn kNewest{std::numeric_limits<std::uint64_t>::max() >> 3U};

}  // namespace

// Nobody reads any more.
BulkEpochs::~BulkEpochs() {
  for (Place& place : places_) {
    if (place.late != nullptr) {
      place.late->collect(kNewest);
    }
  }
}

Sight BulkEpochs::at(BulkEpoch epoch, const Viewer* viewer) const noexcept {
  if (epoch == kNoEpoch || (viewer != nullptr && viewer->bulk == epoch)) {
    return Sight::visible;
  }
  const Place& place = place_of(epoch);
  if (place.epoch.load(std::memory_order_acquire) != epoch) {
    return Sight::visible;
  }
  PALIMPSEST_SYNC_POINT("versioning.bulk.found");
  const Sight sight = place.fate.at(viewer == nullptr ? kNewest : viewer->snapshot);
  // Acquired: whoever took the epoch out for a cancelled snapshot had cancelled it before.
  return place.epoch.load(std::memory_order_acquire) == epoch ? sight : Sight::visible;
}

BulkEpochs::State BulkEpochs::state(BulkEpoch epoch) const noexcept {
  const Place& place = place_of(epoch);
  if (epoch == kNoEpoch || place.epoch.load(std::memory_order_acquire) != epoch) {
    return State::settled;
  }
  const State state = place.fate.is_committed() ? State::committed
                      : place.fate.is_aborted() ? State::aborted
                                                : State::running;
  return place.epoch.load(std::memory_order_relaxed) == epoch ? state : State::settled;
}

Fate& BulkEpochs::begin(BulkEpoch epoch) {
  const std::lock_guard lock(mutex_);
  Place& place = place_of(epoch);
  if (place.epoch.load(std::memory_order_relaxed) != kNoEpoch) {
    throw Error(ErrorCode::too_many_transactions,
                fmt::format("bulk {} is not settled yet: too many bulks at a time",
                            raw(place.epoch.load(std::memory_order_relaxed))));
  }
  place.fate.begin();  // a release behind the epoch that was taken out
  place.epoch.store(epoch, std::memory_order_release);
  entered_.fetch_add(1, std::memory_order_relaxed);
  return place.fate;
}

bool BulkEpochs::has_place(BulkEpoch epoch) const noexcept {
  return place_of(epoch).epoch.load(std::memory_order_acquire) == kNoEpoch;
}

void BulkEpochs::take_out(Place& place) noexcept {
  place.epoch.store(kNoEpoch, std::memory_order_release);
  entered_.fetch_sub(1, std::memory_order_relaxed);
}

void BulkEpochs::forget(BulkEpoch epoch) noexcept {
  const std::lock_guard lock(mutex_);
  if (Place& place = place_of(epoch); place.epoch.load(std::memory_order_relaxed) == epoch) {
    take_out(place);
  }
}

void BulkEpochs::settle(Gsn horizon) noexcept {
  if (is_empty()) [[likely]] {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (Place& place : places_) {
    if (place.epoch.load(std::memory_order_relaxed) == kNoEpoch || !place.fate.is_committed() ||
        place.fate.at(horizon) != Sight::visible) {
      continue;
    }
    const std::unique_lock turn(place.late_turn, std::try_to_lock);
    if (!turn.owns_lock()) {
      continue;  // a version is being made late: next time
    }
    if (place.late != nullptr) {
      place.late->collect(horizon);
      place.late.reset();
    }
    take_out(place);
  }
}

std::optional<BulkEpochs::Late> BulkEpochs::late_versions(BulkEpoch epoch) {
  Place& place = place_of(epoch);
  std::unique_lock turn(place.late_turn);
  if (state(epoch) != State::committed) {
    return std::nullopt;
  }
  if (place.late == nullptr) {
    place.late = std::make_unique<VersionBuffer>(memory_);
  }
  return Late(*place.late, place.fate.timestamp(), std::move(turn));
}

}  // namespace palimpsest::versioning
