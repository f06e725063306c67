// One run of range_bench: inserts rows into an empty store, or erases the lower half of the rows
// that such a run has left. The same code for every engine.
//
// Measured until the operation survives any crash; then, reported separately, until the space of
// erased rows has been freed, and until the engine is closed. Verified: the engine is opened again
// and all its rows are read.
// Failure: UsageError for a wrong path; DamagedRecord for wrong rows; the engine's errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "experiments/bulk/memory_sampler.h"
#include "experiments/bulk/range_engine.h"

namespace palimpsest::experiments::bulk {

enum class Operation : std::uint8_t { ingest = 1, erase };

[[nodiscard]] std::string_view name_of(Operation operation) noexcept;

struct RangeOptions {
  std::string engine;
  std::filesystem::path path;
  Operation operation = Operation::ingest;
  std::uint64_t rows = 0;  ///< of the store; of these the lower half is erased
  std::uint64_t memory_bytes = 0;

  /// Rows that the operation concerns.
  [[nodiscard]] std::uint64_t rows_changed() const noexcept {
    return operation == Operation::ingest ? rows : rows / 2;
  }
};

struct RangeResult {
  double seconds = 0;          ///< until it was durable
  double reclaim_seconds = 0;  ///< of erasing: until space had been freed
  double close_seconds = 0;
  std::uint64_t resident_bytes_before_open = 0;
  MemoryMaxima memory_max{};  ///< while it was done
  bool counts_versions = false;
  std::uint64_t write_bytes = 0;  ///< of the process, as the kernel counts, until it was durable
  Space space_before{};
  Space space_after{};           ///< when it was durable
  Space space_reclaimed{};       ///< when space had been freed
  std::uint64_t disk_bytes = 0;  ///< of all files, when the engine was closed
  std::string description;
};

[[nodiscard]] RangeResult run_range(const RangeOptions& options, const RangeEngineEntry& engine);

}  // namespace palimpsest::experiments::bulk
