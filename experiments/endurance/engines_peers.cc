#include "experiments/endurance/engines.h"
#include "experiments/endurance/run.h"
#include "experiments/engines/lmdb/store.h"
#include "experiments/engines/rocksdb/store.h"
#include "experiments/engines/sqlite/store.h"

namespace palimpsest::experiments::endurance {

std::vector<EngineEntry> known_engines() {
  return {engine_on(lmdb_store(), Isolation::serializable),
          engine_on(rocksdb_store(), Isolation::snapshot),
          engine_on(sqlite_store(), Isolation::serializable)};
}

}  // namespace palimpsest::experiments::endurance
