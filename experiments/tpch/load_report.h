// The result of a load of TPC-H's tables: lines for people, and a JSON object (README.md).
//
// Thread-safety: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "experiments/common/host_info.h"
#include "experiments/tpch/load.h"

namespace palimpsest::experiments::tpch {

[[nodiscard]] std::string summary(const LoadOptions& options, const LoadResult& result);
[[nodiscard]] nlohmann::json to_json(const LoadOptions& options, const LoadResult& result,
                                     const HostInfo& host);

}  // namespace palimpsest::experiments::tpch
