#include "experiments/kv_bench/engines.h"
#include "experiments/kv_bench/memory_engine.h"
#include "experiments/kv_bench/palimpsest_engine.h"

namespace palimpsest::experiments {

std::vector<EngineEntry> known_engines() {
  return {palimpsest_engine(), memory_engine()};
}

}  // namespace palimpsest::experiments
