// Commit latencies in steps of time: of each 100 ms of a run, and of the whole run.
//
// Why: a total histogram hides a stall of a second in a minute's 99.9 %; the steps show when it
// was, and that it was one. A thread keeps its current step private and merges it when the next one
// begins, so that recording costs no shared write.
// Thread-safety: a Recorder belongs to one thread; merging takes the step's mutex. Results are read
// after all recorders have been destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "experiments/common/histogram.h"

namespace palimpsest::experiments {

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Commits that ended within one step.
  struct Step {
    std::uint64_t commits = 0;
    std::uint64_t p50_ns = 0;
    std::uint64_t p99_ns = 0;
    std::uint64_t max_ns = 0;
  };

  /// Covers [start, start + steps * length).
  Timeline(Clock::time_point start, Clock::duration length, std::size_t steps);

  [[nodiscard]] Clock::time_point end() const noexcept;
  [[nodiscard]] std::vector<Step> steps() const;
  /// All steps together.
  [[nodiscard]] Histogram total() const;

  class Recorder {
   public:
    /// `timeline` outlives the recorder.
    explicit Recorder(Timeline& timeline) : timeline_(timeline) {}
    ~Recorder() { merge(); }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// A commit ended at `now` after `latency_ns`; outside the timeline it is not counted. `now`
    /// never goes back.
    void record(Clock::time_point now, std::uint64_t latency_ns);

   private:
    void merge();

    Timeline& timeline_;
    Histogram current_;
    std::size_t step_ = 0;
  };

 private:
  struct Slot {
    mutable std::mutex mutex;  ///< guards latency_ns
    Histogram latency_ns;
  };

  Clock::time_point start_;
  Clock::duration length_;
  std::deque<Slot> slots_;
};

}  // namespace palimpsest::experiments
