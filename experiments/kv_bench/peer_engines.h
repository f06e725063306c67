// The peers Palimpsest is compared with. Each adapter cites where its settings come from.
#pragma once

#include "experiments/kv_bench/kv_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] EngineEntry lmdb_engine();
[[nodiscard]] EngineEntry rocksdb_engine();
[[nodiscard]] EngineEntry wiredtiger_engine();

}  // namespace palimpsest::experiments
