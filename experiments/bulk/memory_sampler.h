// The most memory that a process and its versions have taken while this lived.
//
// Looks every 10 ms. Thread-safety: belongs to one thread; what it calls is called by another.
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
  /// `version_bytes` may be empty: then there are none to be looked at.
  explicit MemorySampler(std::function<std::uint64_t()> version_bytes);

  /// So far. Looks once more.
  [[nodiscard]] MemoryMaxima maxima();

 private:
  void look();

  const std::function<std::uint64_t()> version_bytes_;
  std::mutex mutex_;  ///< guards maxima_
  MemoryMaxima maxima_;
  PeriodicTask task_;  ///< last: the others are there when it starts
};

}  // namespace palimpsest::experiments::bulk
