// The main function of a driver, apart from the workload: flags common to all workloads, the run,
// its output.
//
// The flags are defined in oltp_main.cc, which a driver links like a main file; the workload
// defines the flag of its scale, and its own ones.
#pragma once

#include <string>
#include <vector>

#include "experiments/oltp/options.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// Runs as the flags say; `scale` is the value of the scale's flag, `of_workload` those of the
/// workload's own flags. Throws UsageError, std::exception; violations of the consistency
/// conditions are an error, too.
void run_flags(const Workload& workload, const std::vector<EngineEntry>& engines,
               std::int64_t scale, const WorkloadOptions& of_workload = {});

}  // namespace palimpsest::experiments::oltp
