// The main function of a driver, but for the workload: flags that all workloads share, the run,
// what is printed and written.
//
// The flags are defined in oltp_main.cc, which a driver links like a main file; the workload
// defines that of its scale.
#pragma once

#include <string>
#include <vector>

#include "experiments/oltp/options.h"
#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::oltp {

/// Runs what the flags ask for; `scale` is the value of the scale's flag. Throws UsageError,
/// std::exception; violations of the consistency conditions are an error, too.
void run_flags(const Workload& workload, const std::vector<EngineEntry>& engines,
               std::int64_t scale);

}  // namespace palimpsest::experiments::oltp
