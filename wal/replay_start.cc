#include "wal/replay_start.h"

#include <algorithm>

#include "base/check.h"

namespace palimpsest::wal {
namespace {

/// Of the segments that there may be, the part that a pin may hold back.
constexpr std::uint32_t kPinnedShare = 2;

}  // namespace

ReplayStart::ReplayStart(LogStore& store, LogSpace& space) noexcept
    : store_(store), space_(space), position_(raw(store.control().state().start.position)) {}

bool ReplayStart::move(const LogStart& start, const std::string& note, bool clean) {
  const std::lock_guard lock(mutex_);
  ControlState next = store_.control().state();
  if (start.position < next.start.position) {
    return false;  // somebody else has moved it further
  }
  next.start = start;
  next.note = note;
  next.clean = clean;
  store_.control().write(next);
  position_.store(raw(start.position), std::memory_order_release);
  return release();
}

bool ReplayStart::release() {
  Segments& segments = store_.segments();
  const std::uint64_t start = segments.number_of(StreamPosition{position()});
  if (pinned_ && start > *pinned_ + segments.segments_max() / kPinnedShare) {
    pinned_.reset();
  }
  const bool is_held_back = pinned_ && *pinned_ < start;
  const std::uint32_t released = segments.release_before(is_held_back ? *pinned_ : start);
  const std::uint32_t kept = released - segments.remove_surplus(released);
  if (kept > 0) {
    space_.give(kept);
  }
  return released > 0 || is_held_back;
}

ReplayStart::Pin::Pin(ReplayStart& start) : start_(start) {
  const std::lock_guard lock(start_.mutex_);
  check(!start_.pinned_, "one at a time pins the log");
  state_ = start_.store_.control().state();
  start_.pinned_ = start_.store_.segments().number_of(state_.start.position);
}

// What it has kept is given back by whoever moves replay's start the next time.
ReplayStart::Pin::~Pin() {
  const std::lock_guard lock(start_.mutex_);
  start_.pinned_.reset();
}

void ReplayStart::Pin::move(StreamPosition to) {
  const std::lock_guard lock(start_.mutex_);
  if (start_.pinned_) {
    start_.pinned_ = std::max(*start_.pinned_, start_.store_.segments().number_of(to));
    start_.release();
  }
}

bool ReplayStart::Pin::holds() const {
  const std::lock_guard lock(start_.mutex_);
  return start_.pinned_.has_value();
}

}  // namespace palimpsest::wal
