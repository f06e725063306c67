// tatp: TATP's transactions on an embedded engine, one run per call, one JSON object per run.
#include <gflags/gflags.h>

#include "experiments/common/bench_main.h"
#include "experiments/oltp/oltp_main.h"
#include "experiments/tatp/bench.h"
#include "experiments/tatp/engines.h"

DEFINE_int64(subscribers, 100'000, "number of subscribers, 229 bytes each");
DEFINE_string(keys, "uniform",
              "how transactions choose subscribers: uniform, or nonuniform as TATP defines it");

namespace {

void run() {
  using namespace palimpsest::experiments;
  oltp::run_flags(tatp::workload(), tatp::known_engines(), FLAGS_subscribers,
                  {{tatp::kKeysFlag, FLAGS_keys}});
}

}  // namespace

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  return bench_main(argc, argv, "tatp", "run TATP on an engine; see experiments/tatp/README.md",
                    run);
}
