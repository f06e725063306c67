// The result of a run as one JSON object, and as a few lines for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/common/host_info.h"
#include "experiments/log_bench/driver.h"

namespace palimpsest::experiments {

/// Raised whenever a field changes its meaning or goes away; docs/benchmarks/running.md lists the
/// fields.
inline constexpr int kCommitSchemaVersion = 1;

[[nodiscard]] nlohmann::json to_json(const CommitOptions& options, const CommitRunResult& result,
                                     const HostInfo& host);

[[nodiscard]] std::string summary(const CommitOptions& options, const CommitRunResult& result);

}  // namespace palimpsest::experiments
