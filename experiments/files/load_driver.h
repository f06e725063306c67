// One run of csv_load_peers: a CSV file of lineitem into an empty store, the same code for every
// engine.
//
// Palimpsest's own loader (tools/load) reads and parses the file, with as many threads as
// `palimpsest load` uses, and these make keys and values of its rows; one thread puts them into the
// engine. So engines differ only in how they store rows.
// Measured from before the file is opened until all rows survive any crash; then, reported
// separately, until the engine has put them in order and is closed. Verified: the engine is opened
// again, its keys must ascend, and its content must be that of the file.
// Failure: UsageError for a wrong path; DamagedRecord for wrong rows; Error; the engine's errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "experiments/bulk/memory_sampler.h"
#include "experiments/engines/bulk_store.h"
#include "experiments/files/content.h"

namespace palimpsest::experiments::files {

struct LoadOptions {
  std::string engine;
  std::filesystem::path input;
  std::filesystem::path path;
  std::uint64_t memory_bytes = 0;
  bool sorted = false;
};

struct LoadResult {
  std::string description;
  Content content{};
  std::uint64_t input_bytes = 0;
  double seconds = 0;          ///< until all rows were durable
  double settled_seconds = 0;  ///< until they were in order and the engine closed, too
  bulk::MemoryMaxima memory_max{};
  std::uint64_t data_bytes = 0;  ///< of all files, closed
};

[[nodiscard]] LoadResult run_load(const LoadOptions& options, const BulkEntry& engine);

}  // namespace palimpsest::experiments::files
