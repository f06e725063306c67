#include "experiments/oltp/own_engines.h"
#include "experiments/tatp/bench.h"
#include "experiments/tatp/engines.h"

namespace palimpsest::experiments::tatp {

std::vector<oltp::EngineEntry> known_engines() {
  return oltp::own_engines<Tatp>();
}

}  // namespace palimpsest::experiments::tatp
