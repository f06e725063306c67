// scan_bench: the cost of a full scan, with and without snapshots and versions.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/bulk/scan.h"
#include "experiments/common/bench_main.h"
#include "experiments/common/flag_checks.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/common/result_json.h"

DEFINE_string(path, "", "directory of the database; absent or empty");
DEFINE_int64(memory_mib, 2048, "memory of the database, MiB");
DEFINE_int64(records, 2'000'000, "rows of the table, 100 bytes each");
DEFINE_int64(changed_one_in, 100, "one row in so many is changed beside a reader");
DEFINE_int64(rounds, 10, "number of scans of each kind");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::bulk;

ScanOptions options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 8;
  constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30U;
  constexpr std::int64_t kRecordsMax = 1'000'000'000;
  constexpr std::int64_t kRoundsMax = 100'000;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the database");
  }
  if (std::filesystem::exists(FLAGS_path) && !std::filesystem::is_empty(FLAGS_path)) {
    throw UsageError(fmt::format("--path={}: a run needs an empty directory", FLAGS_path));
  }
  const auto positive = [](const char* flag, std::int64_t value, std::int64_t most) {
    return static_cast<std::uint64_t>(in_range(flag, value, 1, most));
  };
  return {.directory = FLAGS_path,
          .memory_bytes = static_cast<std::uint64_t>(in_range("memory_mib", FLAGS_memory_mib,
                                                              kMemoryMibMin, kMemoryMibMax))
                          << 20U,
          .rows = positive("records", FLAGS_records, kRecordsMax),
          .changed_one_in = positive("changed_one_in", FLAGS_changed_one_in, kRecordsMax),
          .rounds = static_cast<std::uint32_t>(positive("rounds", FLAGS_rounds, kRoundsMax))};
}

void run() {
  const ScanOptions options = options_of_flags();
  check_output_files(options.directory, {{"json", FLAGS_json}});
  const ScanResult result = run_scans(options);
  print_result(FLAGS_json, summary(options, result), [&] {
    return to_json(options, result, describe_host(options.directory)).dump(2) + "\n";
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "scan_bench",
                    "full scans beside versions; see experiments/bulk/README.md", run);
}
