// The run itself: terminals working on an open database, and a thread that samples it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "experiments/common/progress_display.h"
#include "experiments/oltp/driver.h"
#include "experiments/oltp/options.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// Runs the workload for as long as the options say; `seed` determines all choices of this run,
/// `data` the directory of the engine's files.
[[nodiscard]] Measurement measure(const Options& options, std::uint64_t seed,
                                  const Workload& workload, Bench& bench,
                                  const std::filesystem::path& data, ProgressDisplay& display);

}  // namespace palimpsest::experiments::oltp
