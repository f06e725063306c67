// Runs one benchmark: loads if needed, warms up, measures, and returns what happened. The same code
// for every engine.
//
// Each worker thread owns its session, random generator, histogram and counters; nothing is shared
// between workers but a stop flag they read. The calling thread samples the counters. The measured
// interval ends when the stop flag is raised, and the counters are read at that moment.
// Timing: every n-th operation is timed with the steady clock (Options::latency_every); throughput
// comes from the counters alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "experiments/common/histogram.h"
#include "experiments/kv_bench/kv_engine.h"
#include "experiments/kv_bench/options.h"

namespace palimpsest::experiments {

/// The state of a run at one moment; counters since the beginning of the phase.
struct Sample {
  double seconds = 0;  ///< since the beginning of the phase
  std::uint64_t ops = 0;
  std::uint64_t page_reads = 0;
  std::uint64_t page_writes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

struct PhaseResult {
  Sample end;  ///< at the end of the measured interval
  Histogram latency_ns;
  std::vector<Sample> series;  ///< every Options::sample_ms
};

struct LoadResult {
  bool loaded = false;        ///< false if the data was there already
  double seconds = 0;         ///< inserting
  double settle_seconds = 0;  ///< finish_load and close
  std::uint64_t records = 0;
};

struct RunResult {
  LoadResult load;
  PhaseResult measured;              ///< empty for Mode::load
  bool prefilled = false;            ///< one scan of everything before the warm-up
  bool engine_counts_pages = false;  ///< page counters are the engine's; else bytes / page size
  std::uint64_t data_bytes = 0;      ///< on disk, after the run
  std::uint64_t resident_bytes_before_open = 0;
  std::uint64_t resident_bytes_max = 0;
  std::string io_description;
};

/// Receives progress for people, one line at a time.
using ProgressLine = std::function<void(std::string_view)>;

/// Throws UsageError (path), DamagedRecord (the engine returned wrong data), or the engine's
/// errors.
[[nodiscard]] RunResult run_benchmark(const Options& options, const EngineEntry& engine,
                                      const ProgressLine& progress);

}  // namespace palimpsest::experiments
