// Palimpsest in the commit benchmark.
#pragma once

#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] CommitEngineEntry palimpsest_engine();

}  // namespace palimpsest::experiments
