// A histogram that its thread records into while another looks at it: what intervals of a run are
// made of.
//
// The buckets of Histogram as counters that only grow. Whoever looks copies them and subtracts what
// was there before (Histogram::since), so that recording is two loads and two stores and nobody
// waits.
// Thread-safety: one thread records; any thread may look, and sees each value once, now or later.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "experiments/common/histogram.h"

namespace palimpsest::experiments {

class LiveHistogram {
 public:
  void record(std::uint64_t value) noexcept {
    raise(counts_[Histogram::bucket_of(value)]);
    if (value > max_.load(std::memory_order_relaxed)) {
      max_.store(value, std::memory_order_relaxed);
    }
  }

  /// Adds what has been recorded so far.
  void add_to(Histogram& histogram) const noexcept {
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      histogram.add(bucket, counts_[bucket].load(std::memory_order_relaxed));
    }
    histogram.raise_max(max_.load(std::memory_order_relaxed));
  }

 private:
  static void raise(std::atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, Histogram::kBuckets> counts_{};
  std::atomic<std::uint64_t> max_{0};
};

}  // namespace palimpsest::experiments
