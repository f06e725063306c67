#include "wal/log_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/futex.h"
#include "base/sync_point.h"

namespace palimpsest::wal {
namespace {

/// How long the disk may be full before a waiting thread gets the error.
constexpr auto kFullDiskPatience = std::chrono::milliseconds(500);
/// How long a waiting thread sleeps before it checks again.
constexpr auto kSpacePause = std::chrono::milliseconds(10);
/// A transaction that takes more than one part in this many of the existing log would fill the log
/// alone. The share is well below one because the transaction begins within a segment (of the
/// fewest segments, one is half of the usable space) and because batches are padded.
constexpr std::uint64_t kShareOfOne = 3;

}  // namespace

bool LogSpace::wait_for(FullSince& full_since, std::int64_t bytes, FunctionRef<bool()> give_up) {
  const std::uint32_t seen = given_.load();
  try {
    if (make_segment(bytes)) {
      return true;
    }
    full_since.reset();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_space) {
      throw;
    }
    const auto now = std::chrono::steady_clock::now();
    full_since = full_since.value_or(now);
    if (now - *full_since > kFullDiskPatience) {
      refuse("and no segment has become reusable", error);
    }
  }
  if (on_filling_) {
    on_filling_();
  }
  if (budget_.left() >= bytes) {
    return true;
  }
  if (give_up()) {
    return false;
  }
  sleep(seen);
  return true;
}

// If waiters_ counts threads that saw a later given_, `seen` is outdated: this thread does not
// count itself, and futex_wait_for() returns at once.
void LogSpace::sleep(std::uint32_t seen) noexcept {
  const std::uint64_t none = waiters_of(seen, 0);
  const std::uint64_t later = none + waiters_of(1, 0);
  std::uint64_t waiters = waiters_.load();
  while (waiters < later && !waiters_.compare_exchange_weak(waiters, std::max(waiters, none) + 1)) {
  }
  futex_wait_for(given_, seen, kSpacePause);
  PALIMPSEST_SYNC_POINT("wal.space.woken");
  waiters = waiters_.load();
  while (waiters > none && waiters < later &&
         !waiters_.compare_exchange_weak(waiters, waiters - 1)) {
  }
}

void LogSpace::require_for_one(std::uint64_t bytes) {
  if (bytes <= this->bytes() / kShareOfOne) {
    return;
  }
  try {
    const std::lock_guard lock(making_);
    static_cast<void>(grow());  // at its bound, or longer now: a retry may get further
  } catch (const Error& error) {
    if (error.code() == ErrorCode::no_space) {
      refuse(fmt::format("too few for a transaction that needs {} of them", bytes), error);
    }
  }
}

bool LogSpace::give(std::uint64_t segment_bytes) noexcept {
  auto given = static_cast<std::int64_t>(segment_bytes);
  {
    const std::lock_guard lock(making_);
    given -= static_cast<std::int64_t>(usable(counted_));
    counted_ = segments_.bytes();
    given += static_cast<std::int64_t>(usable(counted_));
    budget_.add(given);
  }
  if (given <= 0) {
    return false;  // it covered what the stream had overdrawn
  }
  given_.fetch_add(1);
  futex_wake_all(given_);
  return true;
}

// False if the log is at its bound.
bool LogSpace::make_segment(std::int64_t bytes) {
  const std::lock_guard lock(making_);
  return budget_.left() >= bytes || grow();  // another thread may have made one
}

// Caller has making_.
bool LogSpace::grow() {
  const std::uint64_t made = segments_.make_one(false);
  if (made == 0) {
    return false;
  }
  const std::uint64_t before = usable(counted_);
  counted_ += made;
  budget_.add(static_cast<std::int64_t>(usable(counted_) - before));
  return true;
}

void LogSpace::refuse(std::string_view what, const Error& error) const {
  throw Error(ErrorCode::no_space,
              fmt::format("the log in {} has {} bytes of at most {}, {}: {}", segments_.directory(),
                          segments_.bytes(), segments_.bytes_max(), what, error.what()));
}

}  // namespace palimpsest::wal
