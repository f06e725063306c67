// bulk_bench: readers and writers beside bulks that update a whole table, one run per call.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "experiments/bulk/beside.h"
#include "experiments/bulk/beside_report.h"
#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"

DEFINE_string(path, "", "directory of the database, which must not exist yet");
DEFINE_int64(memory_mib, 1024, "memory of the database, MiB");
DEFINE_int64(version_mib, 0, "part of the memory for versions, MiB; 0: the engine's default");
DEFINE_int64(records, 1'000'000, "rows of the table that is read and updated, 100 bytes each");
DEFINE_string(read, "scan", "what readers do repeatedly: scan the table, or get rows by key");
DEFINE_int64(readers, 1, "number of reading threads");
DEFINE_string(
    update, "none",
    "how all rows are updated: none: not at all; in transactions of 1000 rows; in a bulk");
DEFINE_bool(once, false,
            "update once, with a phase before and one after it, instead of repeatedly");
DEFINE_int64(other_writers, 0, "number of threads that update single rows of another table");
DEFINE_double(seconds, 8, "measured time, seconds; with --once of each phase around the update");
DEFINE_double(warmup, 2, "time before measuring, seconds");
DEFINE_int64(seed, 1, "seed of all random choices");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::bulk;

std::uint64_t mebibytes(const char* flag, std::int64_t value, std::int64_t min) {
  constexpr std::int64_t kMax = std::int64_t{1} << 30U;
  return static_cast<std::uint64_t>(in_range(flag, value, min, kMax)) << 20U;
}

BesideOptions options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 8;
  constexpr std::int64_t kThreadsMax = 256;
  constexpr std::int64_t kRecordsMax = 1'000'000'000;
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the database");
  }
  if (std::filesystem::exists(FLAGS_path) && !std::filesystem::is_empty(FLAGS_path)) {
    throw UsageError(fmt::format("--path={}: a run needs an empty directory", FLAGS_path));
  }
  const Update update = parse_name("update", FLAGS_update,
                                   std::array{Update::none, Update::transactions, Update::bulk});
  const GivenFlags given = given_flags();
  MeaningCheck(given).require(update != Update::none, {"once"}, "without an update");
  return {.directory = FLAGS_path,
          .memory_bytes = mebibytes("memory_mib", FLAGS_memory_mib, kMemoryMibMin),
          .version_bytes_max = mebibytes("version_mib", FLAGS_version_mib, 0),
          .rows = static_cast<std::uint64_t>(in_range("records", FLAGS_records, 1, kRecordsMax)),
          .read = parse_name("read", FLAGS_read, std::array{Read::scan, Read::get}),
          .update = update,
          .once = FLAGS_once,
          .readers = static_cast<std::uint32_t>(in_range("readers", FLAGS_readers, 0, kThreadsMax)),
          .other_writers = static_cast<std::uint32_t>(
              in_range("other_writers", FLAGS_other_writers, 0, kThreadsMax)),
          .warmup_seconds = seconds_in_range("warmup", FLAGS_warmup, true),
          .seconds = seconds_in_range("seconds", FLAGS_seconds, false),
          .seed = static_cast<std::uint64_t>(FLAGS_seed)};
}

void run() {
  const BesideOptions options = options_of_flags();
  check_output_files(options.directory, {{"json", FLAGS_json}});
  const BesideResult result = run_beside(options);
  print_result(FLAGS_json, summary(options, result), [&] {
    return to_json(options, result, describe_host(options.directory)).dump(2) + "\n";
  });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "bulk_bench",
                    "readers and writers beside bulks; see experiments/bulk/README.md", run);
}
