// The engines a binary knows; --engine picks one. endurance is linked with engines_own.cc,
// endurance_peers with engines_peers.cc.
#pragma once

#include <vector>

#include "experiments/endurance/workload.h"

namespace palimpsest::experiments::endurance {

[[nodiscard]] std::vector<EngineEntry> known_engines();

}  // namespace palimpsest::experiments::endurance
