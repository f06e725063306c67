// The thread that writes what asynchronous commits leave in the logs, within a bounded time.
//
// It writes at intervals while there is something, and sleeps without a timeout while there is not:
// an idle database costs nothing. Who commits asynchronously says so; that costs a look at a flag.
// Between two intervals it writes when it is told that a slot's log fills up: so that who appends
// faster than an interval allows for waits for no disk.
//
// No commit is forgotten: a committer publishes its record, then looks at state_; the thread sets
// state_ to kAsleep, then looks at the logs. All four are sequentially consistent, so one sees the
// other. What has been hurried for is not either: its owner has published it, then sets kHurried,
// which ends both ways of sleeping and is taken back only before the logs are looked at; so the
// round that follows takes it. While it is kHurried a commit need not wake anybody. kStopping
// stays: each change expects another state.
// Thread-safety: committed() and hurry() from any thread, until the destructor begins.
// Failure: when the log has failed, the thread ends; whoever writes next learns why.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "wal/log.h"

namespace palimpsest::wal {

class BackgroundCommitter {
 public:
  /// Starts the thread. A commit is on its way to disk at most `interval` after it was made.
  BackgroundCommitter(Log& log, std::chrono::milliseconds interval);
  /// Writes what is there, unless the log has failed, and stops.
  ~BackgroundCommitter();
  BackgroundCommitter(const BackgroundCommitter&) = delete;
  BackgroundCommitter& operator=(const BackgroundCommitter&) = delete;

  /// To be called when a slot's log fills up: it is written at once, not after the interval.
  void hurry() noexcept;
  /// To be called after an asynchronous commit was appended.
  void committed() noexcept {
    if (state_.load() == kAsleep) {
      wake(kAwake);
    }
  }

 private:
  static constexpr std::uint32_t kAwake = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kStopping = 2;
  static constexpr std::uint32_t kHurried = 3;

  void wake(std::uint32_t state) noexcept;
  void run();
  void sleep_until_needed() noexcept;
  void sleep() noexcept;
  [[nodiscard]] bool write_pending() noexcept;

  Log& log_;
  const std::chrono::milliseconds interval_;
  std::atomic<std::uint32_t> state_{kAsleep};  ///< until it is needed for the first time
  std::thread thread_;                         // last: starts when everything else is there
};

}  // namespace palimpsest::wal
