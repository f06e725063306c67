// Runs a workload: loads if needed, warms up, measures, checks. The same code for all workloads and
// engines.
//
// Warm-up and measured time are one uninterrupted run. Transactions that end between two moments
// are measured; those still running at the second one are not counted. After a load the database is
// closed and opened again, so that a run after it starts as every other run does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/common/progress_display.h"
#include "experiments/oltp/interval.h"
#include "experiments/oltp/options.h"
#include "experiments/oltp/reader_turns.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

struct LoadResult {
  bool loaded = false;  ///< false if the data was there already
  std::uint64_t rows = 0;
  double seconds = 0;         ///< inserting
  double settle_seconds = 0;  ///< finish_load() and close()
};

/// What was measured.
struct Measurement {
  Interval total;
  Maxima maxima;
  std::uint64_t data_bytes_start = 0;
  std::uint64_t data_bytes_end = 0;
  bool engine_counts_data = false;  ///< else the size of its files, log included
  std::vector<SeriesRow> series;    ///< an interval each Options::sample
  std::vector<double> commits_by_second;
  std::optional<LongReaderCounts> long_reader;  ///< if there was one
  std::optional<ReaderShare> reader_share;      ///< if it was open only at times
};

struct RunResult {
  LoadResult load;
  std::uint64_t earlier_runs = 0;       ///< on the same data, before the one measured
  std::optional<Measurement> measured;  ///< nothing with Options::seconds 0
  std::optional<CheckResult> check;     ///< nothing unless requested
  double check_seconds = 0;
  /// Of loading the data into memory before the run; nothing if it does not fit.
  std::optional<double> read_everything_seconds;
  std::string description;                             ///< Store::description()
  EngineOptions engine_options;                        ///< Store::effective_options()
  std::chrono::milliseconds asynchronous_interval{0};  ///< StoreSettings::asynchronous_interval
};

/// Throws UsageError (path), DamagedRecord (wrong contents of the database), the engine's errors.
[[nodiscard]] RunResult run_workload(const Options& options, const Workload& workload,
                                     const EngineEntry& engine, ProgressDisplay& display);

}  // namespace palimpsest::experiments::oltp
