// Runs one benchmark: loads, warms up, measures, closes, opens again and verifies. The same code
// for every engine.
//
// Each worker has its session, random generator and table of the last update it made to each
// record; nothing is shared between workers but the steps of the time series they merge into. Every
// commit is timed by the steady clock; warm-up and measured time are one uninterrupted run of which
// only the latter is recorded. Closed loop: a worker starts a transaction when its last has
// returned.
// Verified: after a reopening every record carries the last update of one of the workers that
// updated it, and its other bytes are as loaded; so no acknowledged commit was lost before the
// clean end (the tests cover crashes).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/common/histogram.h"
#include "experiments/log_bench/commit_engine.h"
#include "experiments/log_bench/options.h"
#include "experiments/log_bench/timeline.h"

namespace palimpsest::experiments {

struct CommitRunResult {
  double load_seconds = 0;
  Histogram latency_ns;  ///< of every commit of the measured time
  std::vector<Timeline::Step> series;

  /// Commits from the end of the load to the end of the run, warm-up included; the bytes below
  /// belong to them.
  std::uint64_t commits = 0;
  LogCounts log;
  std::uint64_t write_bytes =
      0;  ///< sent by the process to block devices, or made dirty in the cache

  std::string durability_description;
};

/// Receives progress for people, one line at a time.
using ProgressLine = std::function<void(std::string_view)>;

/// Creates the directory of the data, which must be empty if it exists, and removes the files it
/// made there. Throws UsageError (path), DamagedRecord (the engine lost or invented data), or the
/// engine's errors.
[[nodiscard]] CommitRunResult run_commits(const CommitOptions& options,
                                          const CommitEngineEntry& engine,
                                          const ProgressLine& progress);

}  // namespace palimpsest::experiments
