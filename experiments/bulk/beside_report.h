// The result of a run of bulk_bench: lines for people, and a JSON object (README.md).
//
// Thread-safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/bulk/beside.h"
#include "experiments/common/host_info.h"

namespace palimpsest::experiments::bulk {

[[nodiscard]] std::string summary(const BesideOptions& options, const BesideResult& result);
[[nodiscard]] nlohmann::json to_json(const BesideOptions& options, const BesideResult& result,
                                     const HostInfo& host);

}  // namespace palimpsest::experiments::bulk
