// TPC-H's tables as .tbl files, made by many threads: the same bytes for any number of them.
//
// Failure: UsageError for existing files or a device without space for them, before anything is
//          written; std::system_error for failed writes; Interrupted. No file is left then, nor the
//          directory if it was created.
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

/// Throws UsageError if the device of the directory has less free space than `bytes`. The directory
/// need not exist yet.
void require_space(const std::filesystem::path& directory, std::uint64_t bytes);

}  // namespace palimpsest::experiments::tpch
