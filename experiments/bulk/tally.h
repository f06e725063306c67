// Counters of one thread of a run, read by other threads meanwhile.
//
// Thread-safety: one thread counts; any thread may read. The counters of one read are no snapshot.
#pragma once

#include <atomic>
#include <cstdint>

#include "experiments/common/histogram.h"
#include "experiments/common/live_histogram.h"

namespace palimpsest::experiments::bulk {

/// Counts of one thread or several, up to a moment or between two.
struct Counts {
  std::int64_t rows = 0;       ///< read, or updated
  std::uint64_t restarts = 0;  ///< failed attempts
  Histogram latency_ns{};      ///< of operations that are complete
};

class Tally {
 public:
  void add_rows(std::int64_t rows) noexcept { rows_.fetch_add(rows, std::memory_order_relaxed); }
  /// An attempt that had counted so many rows failed and begins again.
  void restart(std::int64_t rows) noexcept {
    add_rows(-rows);
    restarts_.fetch_add(1, std::memory_order_relaxed);
  }
  /// An operation is complete.
  void record(std::uint64_t latency_ns) noexcept { latency_ns_.record(latency_ns); }

  void add_to(Counts& counts) const noexcept {
    counts.rows += rows_.load(std::memory_order_relaxed);
    counts.restarts += restarts_.load(std::memory_order_relaxed);
    latency_ns_.add_to(counts.latency_ns);
  }

 private:
  std::atomic<std::int64_t> rows_{0};
  std::atomic<std::uint64_t> restarts_{0};
  LiveHistogram latency_ns_;
};

/// The counts after `earlier`. Rows of attempts that began before it and have failed since are not
/// subtracted twice.
[[nodiscard]] inline Counts since(const Counts& now, const Counts& earlier) {
  return {.rows = now.rows > earlier.rows ? now.rows - earlier.rows : 0,
          .restarts = now.restarts - earlier.restarts,
          .latency_ns = now.latency_ns.since(earlier.latency_ns)};
}

}  // namespace palimpsest::experiments::bulk
