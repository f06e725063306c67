#include "experiments/endurance/engines.h"

namespace palimpsest::experiments::endurance {

std::vector<engines::OrderedEngineEntry> known_engines() {
  return {engines::lmdb_ordered(), engines::rocksdb_ordered(), engines::sqlite_ordered()};
}

}  // namespace palimpsest::experiments::endurance
