// What a load would make of a file's first records: its columns, and their first values.
//
// Failure: as run_load() before it loads a row; Error invalid_argument for a first record that is
//          none, which names its place. Thread-safety: one call.
#pragma once

#include <functional>
#include <string>

#include "tools/load/load.h"

namespace palimpsest::load {

/// A line for each column. `found`: as of run_load().
[[nodiscard]] std::string run_preview(const LoadOptions& options,
                                      const std::function<void(const LoadFindings&)>& found);

}  // namespace palimpsest::load
