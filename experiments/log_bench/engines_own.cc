#include "experiments/log_bench/engines.h"
#include "experiments/log_bench/memory_engine.h"
#include "experiments/log_bench/palimpsest_engine.h"

namespace palimpsest::experiments {

std::vector<CommitEngineEntry> known_engines() {
  return {palimpsest_engine(), memory_engine()};
}

}  // namespace palimpsest::experiments
