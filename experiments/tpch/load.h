// A load of TPC-H's tables into a new database through the public API: compares bulk transactions
// with ordinary ones, in time and in memory for versions.
//
// none, snapshot: transactions of a bounded number of rows at that isolation level, by many threads
// at once; an order and its lines are of one transaction. With `single_transaction` each table is
// one transaction. bulk: each table is one bulk transaction. Different tables are then loaded at
// the same time, each by one thread.
// Thread-safety: one call at a time for a directory.
// Failure: an error after the load has begun is part of the result: whether a transaction is too
//          large for log or memory is one of the measurements. Before that, UsageError, or Error of
//          the database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "experiments/common/progress_display.h"
#include "experiments/tpch/scale.h"

namespace palimpsest::experiments::tpch {

enum class LoadMode : std::uint8_t { none = 1, snapshot, bulk };

[[nodiscard]] std::string_view name_of(LoadMode mode) noexcept;

struct LoadOptions {
  std::filesystem::path directory;  ///< of the database; without one, or empty
  std::uint64_t memory_bytes = 0;
  std::uint64_t version_bytes_max = 0;  ///< 0: what the engine takes
  std::uint64_t log_bytes_max = 0;      ///< 0: what the engine takes
  Scale scale{1};
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  LoadMode mode = LoadMode::bulk;
  bool single_transaction = false;  ///< a bulk always is
};

struct LoadResult {
  std::uint64_t rows = 0;     ///< committed
  double seconds = 0;         ///< until the last commit had returned
  double insert_seconds = 0;  ///< of insertions and commits, of all threads: the rest makes rows
  double close_seconds = 0;   ///< until all pages were written in place
  std::uint64_t version_bytes_max = 0;   ///< at most, as sampled
  std::uint64_t entry_bytes_max = 0;     ///< at most, as sampled
  std::uint64_t resident_bytes_max = 0;  ///< of the process at most, as sampled
  std::uint64_t log_bytes = 0;
  std::uint64_t data_bytes = 0;  ///< of the page file
  std::string error{};           ///< that ended it; empty if all rows were loaded
};

[[nodiscard]] LoadResult load(const LoadOptions& options, ProgressDisplay& display);

}  // namespace palimpsest::experiments::tpch
