// The engines of binaries that link Palimpsest's peers.
#pragma once

#include <vector>

#include "experiments/engines/lmdb/store.h"
#include "experiments/engines/rocksdb/store.h"
#include "experiments/engines/wiredtiger/store.h"
#include "experiments/oltp/table_bench.h"

namespace palimpsest::experiments::oltp {

template <TableWorkload W>
[[nodiscard]] std::vector<EngineEntry> peer_engines() {
  return {table_bench_on<W>(lmdb_store()), table_bench_on<W>(rocksdb_store()),
          table_bench_on<W>(rocksdb_optimistic_store()), table_bench_on<W>(wiredtiger_store())};
}

}  // namespace palimpsest::experiments::oltp
