// The engines a binary knows; --engine picks one. log_bench is linked with engines_own.cc,
// log_bench_peers with engines_peers.cc; main.cc is the same.
#pragma once

#include <vector>

#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] std::vector<CommitEngineEntry> known_engines();

}  // namespace palimpsest::experiments
