#include "experiments/engines/palimpsest/store.h"
#include "experiments/kv_bench/engines.h"
#include "experiments/kv_bench/memory_engine.h"
#include "experiments/kv_bench/store_engine.h"

namespace palimpsest::experiments {

std::vector<EngineEntry> known_engines() {
  return {kv_engine_on(palimpsest_store()), memory_engine()};
}

}  // namespace palimpsest::experiments
