// The reference adapter: values in an array behind mutexes, no log. It shows the cost of the driver
// itself, and tests the driver without a storage engine.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

/// The values themselves; outlives engines opened on it, as a disk would.
/// Thread-safety: record r is guarded by its stripe's mutex; `values` grows only in a load.
struct MemoryValues {
  static constexpr std::size_t kStripes = 64;

  [[nodiscard]] std::mutex& mutex_of(std::uint64_t record) noexcept {
    return stripes[record % kStripes];
  }

  std::vector<Value> values;
  std::array<std::mutex, kStripes> stripes;
};

/// An engine on a store of its own.
[[nodiscard]] CommitEngineEntry memory_engine();

[[nodiscard]] std::unique_ptr<CommitEngine> open_memory_engine(
    std::shared_ptr<MemoryValues> values);

}  // namespace palimpsest::experiments
