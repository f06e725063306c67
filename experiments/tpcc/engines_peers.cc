#include "experiments/oltp/peer_engines.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/engines.h"

namespace palimpsest::experiments::tpcc {

std::vector<oltp::EngineEntry> known_engines() {
  return oltp::peer_engines<Tpcc>();
}

}  // namespace palimpsest::experiments::tpcc
