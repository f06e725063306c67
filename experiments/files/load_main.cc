// csv_load_peers: a CSV file of lineitem into an empty store of another engine, one run per call.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <nlohmann/json.hpp>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/common/result_json.h"
#include "experiments/files/load_driver.h"

DEFINE_string(engine, "", "engine that the file is loaded into");
DEFINE_string(input, "", "the file to load, made by lineitem_csv");
DEFINE_string(path, "", "directory of the data, which is kept");
DEFINE_int64(memory_mib, 256, "memory the engine may use, MiB");
DEFINE_bool(sorted, false, "the lines are sorted by their keys");
DEFINE_string(json, "", "file for the result as JSON; -: standard output");

namespace {

using namespace palimpsest::experiments;
using namespace palimpsest::experiments::files;
using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr double kMb = 1e6;

LoadOptions options_of_flags() {
  constexpr std::int64_t kMemoryMibMin = 8;
  constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30U;
  if (FLAGS_input.empty()) {
    throw UsageError("--input: name the file to load");
  }
  if (FLAGS_path.empty()) {
    throw UsageError("--path: name the directory for the data");
  }
  return {.engine = FLAGS_engine,
          .input = FLAGS_input,
          .path = FLAGS_path,
          .memory_bytes = static_cast<std::uint64_t>(in_range("memory_mib", FLAGS_memory_mib,
                                                              kMemoryMibMin, kMemoryMibMax))
                          << 20U,
          .sorted = FLAGS_sorted};
}

double mb_per_second(const LoadResult& result) {
  return static_cast<double>(result.input_bytes) / kMb / result.seconds;
}

std::string summary(const LoadOptions& options, const LoadResult& result) {
  return fmt::format(
      "{}: {} rows, {}\ndurable after {:.2f} s, {:.0f} MB/s; settled after {:.2f} s\n",
      options.engine, result.content.rows, result.description, result.seconds,
      mb_per_second(result), result.settled_seconds);
}

std::string json_text(const LoadOptions& options, const LoadResult& result) {
  json object = {{"benchmark", "csv_load"},
                 {"schema_version", kSchemaVersion},
                 {"engine", options.engine},
                 {"description", result.description},
                 {"sorted", options.sorted},
                 {"memory_bytes", options.memory_bytes},
                 {"content",
                  {{"rows", result.content.rows},
                   {"order_keys", result.content.order_keys},
                   {"price_cents", result.content.price_cents},
                   {"comment_bytes", result.content.comment_bytes}}},
                 {"rows", result.content.rows},
                 {"input_bytes", result.input_bytes},
                 {"seconds", result.seconds},
                 {"settled_seconds", result.settled_seconds},
                 {"mb_per_s", mb_per_second(result)},
                 {"resident_bytes_max", result.memory_max.resident_bytes},
                 {"resident_file_bytes_max", result.memory_max.resident_file_bytes},
                 {"data_bytes", result.data_bytes}};
  add_host(object, describe_host(options.path));
  return object.dump(2) + "\n";
}

void run() {
  const BulkEntry engine =
      find_engine(std::vector{lmdb_bulk(), rocksdb_bulk(), wiredtiger_bulk()}, FLAGS_engine);
  const LoadOptions options = options_of_flags();
  check_output_files(options.path, {{"json", FLAGS_json}});
  const LoadResult result = run_load(options, engine);
  print_result(FLAGS_json, summary(options, result), [&] { return json_text(options, result); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, "csv_load_peers",
                    "load a CSV file into another engine; see experiments/files/README.md", run);
}
