// Results of endurance runs, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/common/host_info.h"
#include "experiments/endurance/workload.h"

namespace palimpsest::experiments::endurance {

[[nodiscard]] std::string summary(const Options& options, const Result& result);
[[nodiscard]] nlohmann::json to_json(const Options& options, const Result& result,
                                     const HostInfo& host);

}  // namespace palimpsest::experiments::endurance
