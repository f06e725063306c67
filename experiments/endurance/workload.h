// The workloads of the endurance test: the same work again and again on data that stays small.
//
// - queue: a record is put at the back and the first one is taken, in two transactions, so that the
//   table keeps its size. The erased front must not slow down the next take.
// - reader: a snapshot is opened, records are appended beside it, and at last the reader reads all
//   records of its snapshot. It must find them, however many records were appended.
// - refresh: a small table is emptied and filled again, in one transaction.
// A run is divided into ten parts. An engine that endures is as fast in the last part as in the
// first, and needs no more memory and disk.
// Failure: UsageError for a path that is in use; DamagedRecord for wrong records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/engines/store.h"

namespace palimpsest::experiments::endurance {

enum class Workload : std::uint8_t { queue = 1, reader, refresh };

[[nodiscard]] std::string_view name_of(Workload workload) noexcept;

inline constexpr std::uint64_t kValueBytes = 100;
inline constexpr std::uint64_t kParts = 10;

struct Options {
  std::string engine;
  std::filesystem::path path;
  Workload workload = Workload::queue;
  std::uint64_t records = 0;     ///< in the table when the work begins
  std::uint64_t operations = 0;  ///< takes, appended records, or refreshes
  std::uint64_t memory_bytes = 0;
};

/// A tenth of a run.
struct Part {
  std::uint64_t operations = 0;
  double seconds = 0;
  std::uint64_t resident_bytes = 0;  ///< at its end, less those before the engine was opened
  std::uint64_t disk_bytes = 0;      ///< at its end: blocks of all files

  [[nodiscard]] double operations_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(operations) / seconds : 0;
  }
};

struct Result {
  std::string description;
  std::vector<Part> parts;  ///< completed operations
  std::string failure;      ///< the engine's error that ended the run early; empty: none
  std::uint64_t disk_bytes_closed = 0;
};

/// An engine, and how it runs a workload (run.h): it opens in the empty directory, works, closes.
struct EngineEntry {
  StoreTraits traits;
  std::function<Result(const Options& options)> run;
};

/// Throws DamagedRecord unless the record is right.
void require(bool right, const std::string& what);

/// Runs the workload in the directory, which is empty or is created. An engine's error during the
/// work ends the run and is part of the result.
[[nodiscard]] Result run(const Options& options, const EngineEntry& engine);

}  // namespace palimpsest::experiments::endurance
