// The main function of a driver, but for the workload: flags that all workloads share, the run,
// what is printed and written.
//
// The flags are defined in oltp_main.cc, which a driver links like a main file; the workload
// defines that of its scale, and those that it has alone.
#pragma once

#include <string>
#include <vector>

#include "experiments/oltp/options.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// Runs what the flags ask for; `scale` is the value of the scale's flag, `of_workload` those of
/// the flags that only this workload has. Throws UsageError, std::exception; violations of the
/// consistency conditions are an error, too.
void run_flags(const Workload& workload, const std::vector<EngineEntry>& engines,
               std::int64_t scale, const WorkloadOptions& of_workload = {});

}  // namespace palimpsest::experiments::oltp
