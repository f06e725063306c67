// The result of a run as one JSON object, as a series in CSV, and as lines and a chart for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/common/host_info.h"
#include "experiments/oltp/driver.h"

namespace palimpsest::experiments::oltp {

/// Raised whenever a field changes its meaning or goes away; README.md lists the fields.
inline constexpr int kResultSchemaVersion = 1;

/// Values that the engine does not report are null.
[[nodiscard]] nlohmann::json to_json(const Options& options, const Workload& workload,
                                     const RunResult& result, const HostInfo& host);

/// A header, and a line for each interval of a measured run; values that the engine does not report
/// are empty fields.
[[nodiscard]] std::string series_csv(const Workload& workload, const Measurement& measured);

[[nodiscard]] std::string summary(const Options& options, const Workload& workload,
                                  const RunResult& result);

}  // namespace palimpsest::experiments::oltp
