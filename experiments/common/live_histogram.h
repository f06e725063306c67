// A histogram that one thread records into while another reads it; used for the intervals of a run.
//
// The buckets of Histogram as counters that only grow. A reader copies them and subtracts its
// earlier copy (Histogram::since), so recording is two loads and two stores, and no thread waits.
// Thread-safety: one thread records; any thread may read, and sees each value once, now or later.
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

  /// Adds the values recorded so far.
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
