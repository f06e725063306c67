// The engines of binaries that link Palimpsest only.
#pragma once

#include <vector>

#include "experiments/engines/palimpsest/store.h"
#include "experiments/oltp/table_bench.h"

namespace palimpsest::experiments::oltp {

template <TableWorkload W>
[[nodiscard]] std::vector<EngineEntry> own_engines() {
  return {table_bench_on<W>(palimpsest_store())};
}

}  // namespace palimpsest::experiments::oltp
