// The work of one thread of a phase: insert its share, or operate until told to stop.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "experiments/common/histogram.h"
#include "experiments/common/permutation.h"
#include "experiments/common/zipf.h"
#include "experiments/kv_bench/kv_engine.h"
#include "experiments/kv_bench/options.h"

namespace palimpsest::experiments {

/// Draws record numbers by the run's distribution. Immutable; shared by all workers.
class RecordChooser {
 public:
  explicit RecordChooser(const Options& options);

  /// A record that has at least `length` records from itself to the end.
  [[nodiscard]] std::uint64_t choose(Random& random, std::uint64_t length) const;

 private:
  std::uint64_t records_;
  bool zipf_;
  Zipf ranks_;
  Permutation scatter_;  ///< popularity rank to record number
};

/// A worker's counters and results, apart from every other worker's cache lines.
struct alignas(64) WorkerState {
  std::atomic<std::uint64_t> ops{0};  ///< written by its worker only
  Histogram latency_ns;
};

struct WorkerContext {
  const Options& options;
  const RecordChooser& chooser;
  const std::atomic<bool>& stop;
  std::uint32_t phase = 0;  ///< number of the phase within the run
  std::uint32_t worker = 0;
  std::uint32_t workers = 1;
};

/// The records of worker `worker` of `workers`: [first, last).
struct RecordRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
[[nodiscard]] RecordRange range_of(std::uint64_t records, std::uint32_t worker,
                                   std::uint32_t workers) noexcept;

/// Inserts this worker's range of positions of the load order.
void load_range(KvSession& session, const WorkerContext& context, WorkerState& state);

/// Scans this worker's range once; loads all data into memory before an in-memory run.
void scan_range(KvSession& session, const WorkerContext& context, WorkerState& state);

/// Repeats the run's operation until `stop`.
void operate(KvSession& session, const WorkerContext& context, WorkerState& state);

}  // namespace palimpsest::experiments
