// The peers Palimpsest is compared with. Each adapter cites where its settings come from.
#pragma once

#include "experiments/log_bench/commit_engine.h"

namespace palimpsest::experiments {

[[nodiscard]] CommitEngineEntry lmdb_engine();
[[nodiscard]] CommitEngineEntry rocksdb_engine();
[[nodiscard]] CommitEngineEntry sqlite_engine();
[[nodiscard]] CommitEngineEntry wiredtiger_engine();

}  // namespace palimpsest::experiments
