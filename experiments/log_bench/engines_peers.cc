#include "experiments/log_bench/engines.h"
#include "experiments/log_bench/memory_engine.h"
#include "experiments/log_bench/peer_engines.h"

namespace palimpsest::experiments {

std::vector<CommitEngineEntry> known_engines() {
  return {memory_engine(), lmdb_engine(), rocksdb_engine(), sqlite_engine(), wiredtiger_engine()};
}

}  // namespace palimpsest::experiments
