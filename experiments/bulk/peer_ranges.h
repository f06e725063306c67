// The peers that range_bench compares Palimpsest with. Each adapter cites where its settings come
// from.
#pragma once

#include "experiments/bulk/range_engine.h"

namespace palimpsest::experiments::bulk {

[[nodiscard]] RangeEngineEntry lmdb_range();
[[nodiscard]] RangeEngineEntry rocksdb_range();
[[nodiscard]] RangeEngineEntry wiredtiger_range();

}  // namespace palimpsest::experiments::bulk
