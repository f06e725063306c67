#include "experiments/endurance/engines.h"

namespace palimpsest::experiments::endurance {

std::vector<engines::OrderedEngineEntry> known_engines() {
  return {engines::palimpsest_ordered()};
}

}  // namespace palimpsest::experiments::endurance
