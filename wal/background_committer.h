// The thread that writes the log records of asynchronous commits within a bounded time.
//
// It writes at intervals while records are pending, and sleeps without a timeout while none are: an
// idle database costs nothing. An asynchronous committer announces its commit; that costs a look at
// a flag. Between two intervals the thread also writes when a slot's log fills up, so that a
// transaction that appends faster than the interval allows does not wait for the disk.
//
// No commit is forgotten: a committer publishes its record, then reads state_; the thread sets
// state_ to kAsleep, then looks at the logs. All four steps are sequentially consistent, so one
// sees the other. Nor is a hurry() forgotten: the slot's owner has published its records before it
// sets kHurried. kHurried ends both ways of sleeping and is cleared only before the logs are looked
// at, so the round that follows takes those records. While the state is kHurried a commit need not
// wake the thread. kStopping is final: every other change expects another state.
// Thread-safety: committed() and hurry() from any thread, until the destructor begins.
// Failure: when the log has failed, the thread ends; the next writer gets the reason.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "wal/log.h"

namespace palimpsest::wal {

class BackgroundCommitter {
 public:
  /// Starts the thread. It begins to write a commit at most `interval` after it was made.
  BackgroundCommitter(Log& log, std::chrono::milliseconds interval);
  /// Writes what is pending, unless the log has failed, and stops.
  ~BackgroundCommitter();
  BackgroundCommitter(const BackgroundCommitter&) = delete;
  BackgroundCommitter& operator=(const BackgroundCommitter&) = delete;

  /// Called when a slot's log fills up: it is written at once, not after the interval.
  void hurry() noexcept;
  /// Called after an asynchronous commit was appended.
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
  std::atomic<std::uint32_t> state_{kAsleep};  ///< asleep until first needed
  std::thread thread_;                         // last: it uses the other members
};

}  // namespace palimpsest::wal
