// queue: a queue of jobs on an embedded engine, one run per call, one JSON object per run.
#include <gflags/gflags.h>

#include "experiments/common/bench_main.h"
#include "experiments/oltp/oltp_main.h"
#include "experiments/queue/bench.h"
#include "experiments/queue/engines.h"

DEFINE_int64(jobs, 10'000, "number of waiting jobs, 112 bytes each");

namespace {

void run() {
  using namespace palimpsest::experiments;
  oltp::run_flags(queue::workload(), queue::known_engines(), FLAGS_jobs);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  return bench_main(argc, argv, "queue",
                    "run a queue of jobs on an engine; see experiments/queue/README.md", run);
}
