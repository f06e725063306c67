// Counts a device's operations without contention: one cache line of counters per processor.
//
// A thread counts in the shard of the processor it runs on (glibc reads that from its
// restartable-sequence area, without a system call). So threads need not be registered.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace palimpsest::io {

/// Sums since the device was opened.
struct IoStatistics {
  std::uint64_t reads = 0;   ///< transfers that read, failed ones included
  std::uint64_t writes = 0;  ///< transfers that wrote, failed ones included
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t batches = 0;  ///< calls of File::run, single reads and writes included
  std::uint64_t repeats = 0;  ///< further attempts after short, interrupted or deferred ones
  std::uint64_t errors = 0;   ///< transfers and syncs that failed
  std::uint64_t syncs = 0;
};

/// The processor this thread runs on, for choosing a shard; a hint that may be stale at once.
[[nodiscard]] inline std::size_t processor_hint() noexcept {
  const int processor = ::sched_getcpu();
  return processor < 0 ? 0 : static_cast<std::size_t>(processor);
}

/// Thread-safe. Counts are relaxed, and a sum is not a snapshot.
class IoCounters {
 public:
  void add(const IoStatistics& more) noexcept {
    Shard& shard = shards_[processor_hint() % kShards];
    add(shard.reads, more.reads);
    add(shard.writes, more.writes);
    add(shard.read_bytes, more.read_bytes);
    add(shard.written_bytes, more.written_bytes);
    add(shard.batches, more.batches);
    add(shard.repeats, more.repeats);
    add(shard.errors, more.errors);
    add(shard.syncs, more.syncs);
  }

  [[nodiscard]] IoStatistics sum() const noexcept {
    IoStatistics total;
    for (const Shard& shard : shards_) {
      total.reads += shard.reads.load(std::memory_order_relaxed);
      total.writes += shard.writes.load(std::memory_order_relaxed);
      total.read_bytes += shard.read_bytes.load(std::memory_order_relaxed);
      total.written_bytes += shard.written_bytes.load(std::memory_order_relaxed);
      total.batches += shard.batches.load(std::memory_order_relaxed);
      total.repeats += shard.repeats.load(std::memory_order_relaxed);
      total.errors += shard.errors.load(std::memory_order_relaxed);
      total.syncs += shard.syncs.load(std::memory_order_relaxed);
    }
    return total;
  }

 private:
  using Counter = std::atomic<std::uint64_t>;
  static constexpr std::size_t kShards = 64;

  struct alignas(64) Shard {
    Counter reads{0};
    Counter writes{0};
    Counter read_bytes{0};
    Counter written_bytes{0};
    Counter batches{0};
    Counter repeats{0};
    Counter errors{0};
    Counter syncs{0};
  };

  static void add(Counter& counter, std::uint64_t more) noexcept {
    if (more != 0) {
      counter.fetch_add(more, std::memory_order_relaxed);
    }
  }

  std::array<Shard, kShards> shards_;
};

}  // namespace palimpsest::io
