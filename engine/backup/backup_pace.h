// Limits the speed of a backup, and reports its progress.
//
// Thread-safety: belongs to the thread that copies.
#pragma once

#include <chrono>
#include <cstdint>

#include "palimpsest/backup.h"

namespace palimpsest::engine {

class BackupPace {
 public:
  explicit BackupPace(const BackupOptions& options) noexcept : options_(options) {}

  /// Adds bytes that are to be copied.
  void expect(std::uint64_t bytes) noexcept { progress_.bytes_total += bytes; }
  /// Notes bytes that were copied; reports them, if it is time. `is_limited`: they count for the
  /// rate. Throws what the callback does.
  void copied(std::uint64_t bytes, bool is_limited);
  /// Whether copying is ahead of its rate: then waits for a moment, and is to be called again.
  [[nodiscard]] bool wait_a_little();
  /// Reports that all is copied.
  void finish();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void tell_in_time();
  void tell();

  const BackupOptions& options_;
  BackupProgress progress_;
  /// The time at which the copied bytes are due at the rate.
  SteadyClock::time_point due_ = SteadyClock::now();
  SteadyClock::time_point told_{};
};

}  // namespace palimpsest::engine
