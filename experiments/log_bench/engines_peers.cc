#include "experiments/engines/lmdb/store.h"
#include "experiments/engines/rocksdb/store.h"
#include "experiments/engines/sqlite/store.h"
#include "experiments/engines/wiredtiger/store.h"
#include "experiments/log_bench/engines.h"
#include "experiments/log_bench/memory_engine.h"
#include "experiments/log_bench/store_engine.h"

namespace palimpsest::experiments {

std::vector<CommitEngineEntry> known_engines() {
  return {memory_engine(), commit_engine_on(lmdb_store(), Isolation::serializable),
          commit_engine_on(rocksdb_store(), Isolation::none),
          commit_engine_on(sqlite_store(), Isolation::serializable),
          commit_engine_on(wiredtiger_store(), Isolation::snapshot)};
}

}  // namespace palimpsest::experiments
