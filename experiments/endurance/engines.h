// The engines a binary knows; --engine picks one. endurance is linked with engines_own.cc,
// endurance_peers with engines_peers.cc.
#pragma once

#include <vector>

#include "experiments/engines/ordered_engine.h"

namespace palimpsest::experiments::endurance {

[[nodiscard]] std::vector<engines::OrderedEngineEntry> known_engines();

}  // namespace palimpsest::experiments::endurance
