// The progress of recovery, reported to the caller that opens a database.
//
// The work of a phase is counted in bytes of the log. The remaining time is estimated from the mean
// speed of the phase so far, which is right if the log is uniform.
// Thread-safety: a meter belongs to the thread that made it, which is the one that calls back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace palimpsest::engine {

enum class RecoveryPhase : std::uint8_t {
  analysis = 1,  ///< reads the log: which transactions lost, which pages are in use
  redo,          ///< replays the log on the pages
  undo,          ///< undoes unfinished transactions; counts bytes of their logs
};

struct Progress {
  RecoveryPhase phase{};
  std::uint64_t bytes_done = 0;   ///< of the log, in this phase
  std::uint64_t bytes_total = 0;  ///< of this phase
  /// Of this phase; zero when nothing is left or there is no estimate yet.
  std::chrono::milliseconds estimated_remaining{0};
};

/// Called by one thread at a time, the one that recovers; must not throw. May be empty.
using ProgressCallback = std::function<void(const Progress&)>;

/// Longest time between two calls during a phase.
inline constexpr std::chrono::milliseconds kProgressInterval{50};

/// Calls back at the start of a phase, periodically while it lasts, and at its end.
class ProgressMeter {
 public:
  ProgressMeter(const ProgressCallback& callback, RecoveryPhase phase, std::uint64_t bytes_total);

  /// `bytes_done` of the phase are done; calls back if the interval has passed.
  void at(std::uint64_t bytes_done);
  /// The phase has ended.
  void finish();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void tell(std::uint64_t bytes_done, SteadyClock::time_point now);

  const ProgressCallback& callback_;
  const RecoveryPhase phase_;
  const std::uint64_t bytes_total_;
  const SteadyClock::time_point begun_;
  SteadyClock::time_point last_;
};

}  // namespace palimpsest::engine
