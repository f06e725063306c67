// tpcc: TPC-C's transactions without terminals on an embedded engine, one run per call, one JSON
// object per run.
#include <gflags/gflags.h>

#include "experiments/common/bench_main.h"
#include "experiments/oltp/oltp_main.h"
#include "experiments/tpcc/bench.h"
#include "experiments/tpcc/engines.h"

DEFINE_int64(warehouses, 10, "number of warehouses, 73 MB each");

namespace {

void run() {
  using namespace palimpsest::experiments;
  oltp::run_flags(tpcc::workload(), tpcc::known_engines(), FLAGS_warehouses);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  return bench_main(argc, argv, "tpcc",
                    "run TPC-C, without think times, on an engine; see experiments/tpcc/README.md",
                    run);
}
