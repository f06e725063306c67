#include "experiments/engines/lmdb/store.h"
#include "experiments/engines/rocksdb/store.h"
#include "experiments/engines/wiredtiger/store.h"
#include "experiments/kv_bench/engines.h"
#include "experiments/kv_bench/memory_engine.h"
#include "experiments/kv_bench/store_engine.h"

namespace palimpsest::experiments {

std::vector<EngineEntry> known_engines() {
  return {memory_engine(), kv_engine_on(lmdb_store()), kv_engine_on(rocksdb_store()),
          kv_engine_on(wiredtiger_store())};
}

}  // namespace palimpsest::experiments
