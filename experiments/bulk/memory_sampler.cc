#include "experiments/bulk/memory_sampler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "experiments/common/process_stats.h"

namespace palimpsest::experiments::bulk {
namespace {

constexpr std::chrono::milliseconds kEvery{10};

}  // namespace

MemorySampler::MemorySampler(std::function<std::uint64_t()> version_bytes)
    : version_bytes_(std::move(version_bytes)), task_(kEvery, [this] { look(); }) {}

MemoryMaxima MemorySampler::maxima() {
  look();
  const std::lock_guard lock(mutex_);
  return maxima_;
}

void MemorySampler::look() {
  const ProcessStats process = read_process_stats();
  const std::uint64_t version_bytes = version_bytes_ ? version_bytes_() : 0;
  const std::lock_guard lock(mutex_);
  maxima_.resident_bytes = std::max(maxima_.resident_bytes, process.resident_bytes);
  maxima_.resident_file_bytes = std::max(maxima_.resident_file_bytes, process.resident_file_bytes);
  maxima_.version_bytes = std::max(maxima_.version_bytes, version_bytes);
}

}  // namespace palimpsest::experiments::bulk
