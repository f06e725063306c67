// The result of a run of range_bench: lines for people, and a JSON object (README.md).
//
// Thread-safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/bulk/range_driver.h"
#include "experiments/common/host_info.h"

namespace palimpsest::experiments::bulk {

[[nodiscard]] std::string summary(const RangeOptions& options, const RangeResult& result);
[[nodiscard]] nlohmann::json to_json(const RangeOptions& options, const RangeResult& result,
                                     const HostInfo& host);

}  // namespace palimpsest::experiments::bulk
