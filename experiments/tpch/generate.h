// TPC-H's tables as .tbl files, made by many threads: the same bytes however many there are.
//
// Failure: UsageError for files that are there already or a device without room for them, before
//          anything is written; std::system_error for what cannot be written; Interrupted. No file
//          is left behind then, nor the directory if it was made.
// Thread-safety: one call at a time for a directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "experiments/common/progress_display.h"
#include "experiments/tpch/scale.h"

namespace palimpsest::experiments::tpch {

struct GenerateOptions {
  std::filesystem::path directory;  ///< made if it is not there
  Scale scale{1};
  std::uint64_t seed = 1;
  std::uint32_t threads = 1;
  std::vector<TableId> tables{kTables.begin(), kTables.end()};  ///< each once
};

struct Generated {
  std::uint64_t bytes = 0;
  double seconds = 0;
};

Generated generate(const GenerateOptions& options, ProgressDisplay& display);

/// Refuses, as UsageError, to write `bytes` to the device of a directory that has less room. The
/// directory need not be there yet.
void require_space(const std::filesystem::path& directory, std::uint64_t bytes);

}  // namespace palimpsest::experiments::tpch
