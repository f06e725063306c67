// The engines a binary knows; --engine picks one. kv_bench is linked with engines_own.cc,
// kv_bench_peers with engines_peers.cc; main.cc is the same.
#pragma once

#include <vector>

#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] std::vector<EngineEntry> known_engines();

}  // namespace palimpsest::experiments
