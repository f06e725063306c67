#include "experiments/endurance/engines.h"
#include "experiments/endurance/run.h"
#include "experiments/engines/palimpsest/store.h"

namespace palimpsest::experiments::endurance {

std::vector<EngineEntry> known_engines() {
  return {engine_on(palimpsest_store(), Isolation::snapshot)};
}

}  // namespace palimpsest::experiments::endurance
