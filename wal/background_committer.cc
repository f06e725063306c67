#include "wal/background_committer.h"

#include <exception>

#include "base/futex.h"
#include "base/start_thread.h"

namespace palimpsest::wal {

BackgroundCommitter::BackgroundCommitter(Log& log, std::chrono::milliseconds interval)
    : log_(log),
      interval_(interval),
      thread_(start_thread("that writes the log", [this] { run(); })) {
  log_.prompt(this);
}

BackgroundCommitter::~BackgroundCommitter() {
  log_.prompt(nullptr);
  wake(kStopping);
  thread_.join();
  static_cast<void>(write_pending());
}

// kStopping is final: no commit replaces it.
void BackgroundCommitter::wake(std::uint32_t state) noexcept {
  std::uint32_t expected = kAsleep;
  if (state == kStopping) {
    state_.store(kStopping);
  } else if (!state_.compare_exchange_strong(expected, state)) {
    return;
  }
  futex_wake_all(state_);
}

void BackgroundCommitter::hurry() noexcept {
  std::uint32_t state = state_.load();
  while (state == kAwake || state == kAsleep) {
    if (state_.compare_exchange_weak(state, kHurried)) {
      futex_wake_all(state_);
      return;
    }
  }
}

void BackgroundCommitter::run() {
  sleep();
  while (state_.load() != kStopping) {
    if (!log_.has_pending()) {
      sleep_until_needed();
    }
    std::uint32_t hurried = kHurried;
    state_.compare_exchange_strong(hurried, kAwake);  // before the logs are looked at
    if (!write_pending()) {
      return;
    }
    futex_wait_for(state_, kAwake, interval_);
  }
}

void BackgroundCommitter::sleep_until_needed() noexcept {
  std::uint32_t expected = kAwake;
  if (!state_.compare_exchange_strong(expected, kAsleep)) {
    return;
  }
  if (log_.has_pending()) {
    expected = kAsleep;
    state_.compare_exchange_strong(expected, kAwake);
    return;
  }
  sleep();
}

void BackgroundCommitter::sleep() noexcept {
  while (state_.load() == kAsleep) {
    futex_wait(state_, kAsleep);
  }
}

// False when the log has failed.
bool BackgroundCommitter::write_pending() noexcept {
  try {
    log_.write_pending();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace palimpsest::wal
