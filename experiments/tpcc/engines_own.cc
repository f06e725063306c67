#include "experiments/oltp/palimpsest_store.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/engines.h"

namespace palimpsest::experiments::tpcc {

std::vector<oltp::EngineEntry> known_engines() {
  return {bench_on(oltp::palimpsest_store())};
}

}  // namespace palimpsest::experiments::tpcc
