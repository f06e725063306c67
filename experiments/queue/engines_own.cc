#include "experiments/oltp/own_engines.h"
#include "experiments/queue/bench.h"
#include "experiments/queue/engines.h"

namespace palimpsest::experiments::queue {

std::vector<oltp::EngineEntry> known_engines() {
  return oltp::own_engines<Queue>();
}

}  // namespace palimpsest::experiments::queue
