// endurance: one engine, one workload that repeats itself, ten parts.
#include <gflags/gflags.h>

#include <array>
#include <nlohmann/json.hpp>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/endurance/engines.h"
#include "experiments/endurance/report.h"
#include "experiments/endurance/workload.h"

DEFINE_string(engine, "palimpsest", "engine to measure");
DEFINE_string(path, "", "directory of the data, absent or empty");
DEFINE_string(workload, "queue", "queue, reader or refresh; experiments/endurance/README.md");
DEFINE_int64(records, 1000, "records of 108 bytes in the table when the work begins");
DEFINE_int64(operations, 100'000, "number of takes from the queue, appended records, or refreshes");
DEFINE_int64(memory_mib, 64, "memory the engine may use, MiB");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::endurance;

Options options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 4;
  constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30U;
  constexpr std::int64_t kRecordsMax = 10'000'000'000;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the data");
  }
  return {.engine = FLAGS_engine,
          .path = FLAGS_path,
          .workload = parse_name("workload", FLAGS_workload,
                                 std::array{Workload::queue, Workload::reader, Workload::refresh}),
          .records = static_cast<std::uint64_t>(in_range("records", FLAGS_records, 1, kRecordsMax)),
          .operations = static_cast<std::uint64_t>(
              in_range("operations", FLAGS_operations, std::int64_t{kParts}, kRecordsMax)),
          .memory_bytes = static_cast<std::uint64_t>(in_range("memory_mib", FLAGS_memory_mib,
                                                              kMemoryMibMin, kMemoryMibMax))
                          << 20U};
}

void run_flags() {
  const EngineEntry engine = find_engine(known_engines(), FLAGS_engine);
  const Options options = options_of_flags();
  check_output_files(options.path, {{"json", FLAGS_json}});
  const Result result = run(options, engine);
  print_result(FLAGS_json, summary(options, result), [&] {
    return to_json(options, result, describe_host(options.path)).dump(2) + "\n";
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "endurance",
                    "repeat the same work many times; see experiments/endurance/README.md",
                    run_flags);
}
