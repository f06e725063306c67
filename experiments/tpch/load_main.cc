// tpch_load: TPC-H's tables into a new database, by bulk transactions or ordinary ones.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/common/progress_display.h"
#include "experiments/tpch/load.h"
#include "experiments/tpch/load_report.h"

DEFINE_string(path, "", "directory of the database, which must not exist yet");
DEFINE_int64(memory_mib, 1024, "memory of the database, MiB");
DEFINE_int64(version_mib, 0, "part of the memory for versions, MiB; 0: the engine's default");
DEFINE_int64(log_mib, 0, "largest size of the log, MiB; 0: the engine's default");
DEFINE_double(scale_factor, 1,
              "scale factor, 8.66 million rows each; fractions from 0.01 are possible");
DEFINE_int64(threads, 0, "number of threads that insert; 0: one for each processor");
DEFINE_string(mode, "bulk", "none, snapshot: transactions at that isolation level; or bulk");
DEFINE_bool(single_transaction, false,
            "with none and snapshot: load each table in one transaction");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");
DEFINE_int64(seed, 1, "seed of all rows");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::tpch;

std::uint64_t mebibytes(const char* flag, std::int64_t value, std::int64_t min) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30U;
  return static_cast<std::uint64_t>(in_range(flag, value, min, kMax)) << 20U;
}

LoadOptions options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 8;
  constexpr std::int64_t kThreadsMax = 512;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the database");
  }
  if (std::filesystem::exists(FLAGS_path) && !std::filesystem::is_empty(FLAGS_path)) {
    throw UsageError(fmt::format("--path={}: a load needs an empty directory", FLAGS_path));
  }
  const std::int64_t threads = in_range("threads", FLAGS_threads, 0, kThreadsMax);
  const LoadMode mode = parse_name("mode", FLAGS_mode,
                                   std::array{LoadMode::none, LoadMode::snapshot, LoadMode::bulk});
  const GivenFlags given = given_flags();
  MeaningCheck(given).require(mode != LoadMode::bulk, {"single_transaction"},
                              "with --mode=bulk, which always loads a table in one transaction");
  return {.directory = FLAGS_path,
          .memory_bytes = mebibytes("memory_mib", FLAGS_memory_mib, kMemoryMibMin),
          .version_bytes_max = mebibytes("version_mib", FLAGS_version_mib, 0),
          .log_bytes_max = mebibytes("log_mib", FLAGS_log_mib, 0),
          .scale = Scale(FLAGS_scale_factor),
          .seed = static_cast<std::uint64_t>(FLAGS_seed),
          .threads = threads == 0 ? std::max(1U, std::thread::hardware_concurrency())
                                  : static_cast<std::uint32_t>(threads),
          .mode = mode,
          .single_transaction = FLAGS_single_transaction};
}

void run() {
  const LoadOptions options = options_of_flags();
  check_output_files(options.directory, {{"json", FLAGS_json}});
  ProgressDisplay display(stderr);
  const LoadResult result = load(options, display);
  print_result(FLAGS_json, summary(options, result), [&] {
    return to_json(options, result, describe_host(options.directory)).dump(2) + "\n";
  });
  if (!result.error.empty()) {
    throw std::runtime_error(result.error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "tpch_load",
                    "load TPC-H's tables into Palimpsest; see experiments/tpch/README.md", run);
}
