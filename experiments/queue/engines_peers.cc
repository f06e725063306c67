#include "experiments/oltp/peer_engines.h"
#include "experiments/queue/bench.h"
#include "experiments/queue/engines.h"

namespace palimpsest::experiments::queue {

std::vector<oltp::EngineEntry> known_engines() {
  return oltp::peer_engines<Queue>();
}

}  // namespace palimpsest::experiments::queue
