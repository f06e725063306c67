// The maximum memory of a process and its versions during this object's lifetime.
//
// Samples every 10 ms. Thread-safety: belongs to one thread; it calls the function on another one.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "experiments/common/periodic_task.h"

namespace palimpsest::experiments::bulk {

struct MemoryMaxima {
  std::uint64_t resident_bytes = 0;       ///< of the process
  std::uint64_t resident_file_bytes = 0;  ///< of these, pages of mapped files
  std::uint64_t version_bytes = 0;
};

class MemorySampler {
 public:
  /// `version_bytes` may be empty: then only the process is sampled.
  explicit MemorySampler(std::function<std::uint64_t()> version_bytes);

  /// So far; takes one more sample.
  [[nodiscard]] MemoryMaxima maxima();

 private:
  void look();

  const std::function<std::uint64_t()> version_bytes_;
  std::mutex mutex_;  ///< guards maxima_
  MemoryMaxima maxima_;
  PeriodicTask task_;  ///< last: its thread uses the other members
};

}  // namespace palimpsest::experiments::bulk
