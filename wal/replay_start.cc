#include "wal/replay_start.h"

#include <algorithm>
#include <exception>

#include "base/check.h"

namespace palimpsest::wal {
namespace {

/// A pin may hold back one part in this many of the usable log.
constexpr std::uint64_t kPinnedShare = 2;

}  // namespace

ReplayStart::ReplayStart(LogStore& store, LogSpace& space) noexcept
    : store_(store), space_(space), position_(raw(store.control().state().start.position)) {}

bool ReplayStart::move(const LogStart& start, const std::string& note, bool clean) {
  const std::lock_guard lock(mutex_);
  ControlState next = store_.control().state();
  if (start.position < next.start.position) {
    return false;  // another thread has moved it further
  }
  const bool moves = start.position != next.start.position;
  next.start = start;
  next.note = note;
  next.clean = clean;
  store_.control().write(next);
  position_.store(raw(start.position), std::memory_order_release);
  judge_pin();
  return release() || (moves && is_held_back());
}

bool ReplayStart::is_held_back() const {
  return pinned_ && *pinned_ < store_.segments().number_of(StreamPosition{position()});
}

void ReplayStart::judge_pin() {
  if (is_held_back()) {
    const Segments& segments = store_.segments();
    const StreamPosition start = segments.place_at(StreamPosition{position()}).begin;
    const std::uint64_t behind = raw(start) - raw(segments.place(*pinned_).begin);
    if (behind > space_.bytes_max() / kPinnedShare) {
      pinned_.reset();
    }
  }
}

bool ReplayStart::release() {
  Segments& segments = store_.segments();
  const std::uint64_t start = segments.number_of(StreamPosition{position()});
  const std::uint64_t released = segments.release_before(is_held_back() ? *pinned_ : start);
  segments.remove_surplus(released);
  return released > 0 && space_.give(released);
}

ReplayStart::Pin::Pin(ReplayStart& start) : start_(start) {
  const std::lock_guard lock(start_.mutex_);
  check(!start_.pinned_, "only one backup at a time pins the log");
  state_ = start_.store_.control().state();
  start_.pinned_ = start_.store_.segments().number_of(state_.start.position);
}

ReplayStart::Pin::~Pin() {
  const std::lock_guard lock(start_.mutex_);
  start_.pinned_.reset();
  try {
    start_.release();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next move does it
  }
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
