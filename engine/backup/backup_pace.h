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
  /// So much of it was copied: waits if that was too fast, and tells. Throws what the callback
  /// does.
  void copied(std::uint64_t bytes);
  /// Tells, whenever it was done before.
  void tell();

 private:
  using SteadyClock = std::chrono::steady_clock;

  const BackupOptions& options_;
  BackupProgress progress_;
  const SteadyClock::time_point begun_ = SteadyClock::now();
  SteadyClock::time_point told_{};
};

}  // namespace palimpsest::engine
