// The engines a binary knows; --engine picks one.
#pragma once

#include <vector>

#include "experiments/oltp/workload.h"

namespace palimpsest::experiments::queue {

[[nodiscard]] std::vector<oltp::EngineEntry> known_engines();

}  // namespace palimpsest::experiments::queue
