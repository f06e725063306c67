#include "experiments/engines/palimpsest/store.h"
#include "experiments/log_bench/engines.h"
#include "experiments/log_bench/memory_engine.h"
#include "experiments/log_bench/store_engine.h"

namespace palimpsest::experiments {

std::vector<CommitEngineEntry> known_engines() {
  return {commit_engine_on(palimpsest_store(), Isolation::snapshot), memory_engine()};
}

}  // namespace palimpsest::experiments
