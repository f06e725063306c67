#include "experiments/kv_bench/engines.h"
#include "experiments/kv_bench/memory_engine.h"
#include "experiments/kv_bench/peer_engines.h"

namespace palimpsest::experiments {

std::vector<EngineEntry> known_engines() {
  return {memory_engine(), lmdb_engine(), rocksdb_engine(), wiredtiger_engine()};
}

}  // namespace palimpsest::experiments
