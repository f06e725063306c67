// Counters of threads that run transactions, and the counts of an interval of a run.
//
// Every counter has one writer, its thread, and only grows; a reader copies all of them and
// subtracts an earlier copy (Tally::since). No thread waits.
// Thread-safety: WorkerTally, one thread writes and any thread reads; Tally, a plain value.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/common/histogram.h"
#include "experiments/common/live_histogram.h"
#include "experiments/engines/store.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// The transactions that ended within some time; arrays have an element for each type.
struct Tally {
  explicit Tally(std::size_t types = 0) : latency_ns(types) {}

  std::array<std::uint64_t, kTypesMax> commits{};
  std::array<std::uint64_t, kTypesMax> rollbacks{};         ///< because the input said so
  std::array<std::uint64_t, kConflictReasons> conflicts{};  ///< each was followed by a retry
  std::vector<Histogram> latency_ns;  ///< of commits: from the intended start, conflicts included

  [[nodiscard]] std::uint64_t all_commits() const noexcept;
  [[nodiscard]] std::uint64_t all_rollbacks() const noexcept;
  [[nodiscard]] std::uint64_t all_conflicts() const noexcept;
  /// The counts after `earlier`, an earlier copy of this tally.
  [[nodiscard]] Tally since(const Tally& earlier) const;
};

class WorkerTally {
 public:
  explicit WorkerTally(std::size_t types) : latency_ns_(types) {}

  void commit(std::size_t type, std::uint64_t latency_ns) noexcept {
    latency_ns_[type].record(latency_ns);
  }
  void rollback(std::size_t type) noexcept { raise(rollbacks_[type]); }
  void conflict(ConflictReason reason) noexcept {
    raise(conflicts_[static_cast<std::size_t>(reason) - 1]);
  }

  /// Adds the counts so far to a tally of as many types.
  void add_to(Tally& tally) const noexcept;

 private:
  using Counter = std::atomic<std::uint64_t>;

  static void raise(Counter& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::array<Counter, kTypesMax> rollbacks_{};
  std::array<Counter, kConflictReasons> conflicts_{};
  std::vector<LiveHistogram> latency_ns_;
};

}  // namespace palimpsest::experiments::oltp
