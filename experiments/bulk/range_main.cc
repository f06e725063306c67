// range_bench: inserts sorted rows into an empty store, or erases half of them; one run per call.
#include <gflags/gflags.h>

#include <array>
#include <nlohmann/json.hpp>

#include "experiments/bulk/range_driver.h"
#include "experiments/bulk/range_report.h"
#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"

DEFINE_string(engine, "palimpsest_bulk", "engine to measure, and the means it uses");
DEFINE_string(path, "", "directory of the data, which is kept");
DEFINE_string(operation, "ingest",
              "ingest: rows into an empty directory; erase: the lower half of the existing rows");
DEFINE_int64(records, 1'000'000, "number of rows of 100 bytes; to erase: as many as were ingested");
DEFINE_int64(memory_mib, 1024, "memory the engine may use, MiB");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::bulk;

RangeOptions options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 8;
  constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30U;
  constexpr std::int64_t kRecordsMax = 10'000'000'000;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the data");
  }
  return {.engine = FLAGS_engine,
          .path = FLAGS_path,
          .operation = parse_name("operation", FLAGS_operation,
                                  std::array{Operation::ingest, Operation::erase}),
          .rows = static_cast<std::uint64_t>(in_range("records", FLAGS_records, 2, kRecordsMax)),
          .memory_bytes = static_cast<std::uint64_t>(in_range("memory_mib", FLAGS_memory_mib,
                                                              kMemoryMibMin, kMemoryMibMax))
                          << 20U};
}

void run() {
  const RangeEngineEntry engine = find_engine(known_range_engines(), FLAGS_engine);
  const RangeOptions options = options_of_flags();
  check_output_files(options.path, {{"json", FLAGS_json}});
  const RangeResult result = run_range(options, engine);
  print_result(FLAGS_json, summary(options, result), [&] {
    return to_json(options, result, describe_host(options.path)).dump(2) + "\n";
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "range_bench",
                    "sorted rows in, half of them out; see experiments/bulk/README.md", run);
}
