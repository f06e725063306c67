#include "experiments/oltp/lmdb_store.h"
#include "experiments/oltp/rocksdb_store.h"
#include "experiments/oltp/wiredtiger_store.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/engines.h"

namespace palimpsest::experiments::tpcc {

std::vector<oltp::EngineEntry> known_engines() {
  return {bench_on(oltp::lmdb_store()), bench_on(oltp::rocksdb_store()),
          bench_on(oltp::rocksdb_optimistic_store()), bench_on(oltp::wiredtiger_store())};
}

}  // namespace palimpsest::experiments::tpcc
