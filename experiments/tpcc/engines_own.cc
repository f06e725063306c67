#include "experiments/oltp/own_engines.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/engines.h"

namespace palimpsest::experiments::tpcc {

std::vector<oltp::EngineEntry> known_engines() {
  return oltp::own_engines<Tpcc>();
}

}  // namespace palimpsest::experiments::tpcc
