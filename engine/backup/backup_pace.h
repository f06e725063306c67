// How fast a backup copies, and what it tells of it.
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

  /// So much more is there to be copied.
  void expect(std::uint64_t bytes) noexcept { progress_.bytes_total += bytes; }
  /// So much of it was copied; tells, if it is time. `is_limited`: it counts for the rate. Throws
  /// what the callback does.
  void copied(std::uint64_t bytes, bool is_limited);
  /// Whether what was copied came too fast: then it waits for a moment, and is to be asked again.
  [[nodiscard]] bool wait_a_little();
  /// Tells that all is copied.
  void finish();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void tell_in_time();
  void tell();

  const BackupOptions& options_;
  BackupProgress progress_;
  /// When what was copied may have been, at its rate.
  SteadyClock::time_point due_ = SteadyClock::now();
  SteadyClock::time_point told_{};
};

}  // namespace palimpsest::engine
