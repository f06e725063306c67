// log_bench: small transactions committed durably, one run per call, one JSON object per run.
#include <gflags/gflags.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/log_bench/driver.h"
#include "experiments/log_bench/engines.h"
#include "experiments/log_bench/options.h"
#include "experiments/log_bench/report.h"

namespace palimpsest::experiments {
namespace {
const CommitFlags kDefaults;
}
}  // namespace palimpsest::experiments

using palimpsest::experiments::kDefaults;

DEFINE_string(engine, kDefaults.engine, "engine to measure");
DEFINE_string(path, kDefaults.path, "directory of the data; empty or absent, removed afterwards");
DEFINE_string(durability, kDefaults.durability,
              "sync: a commit is durable when it returns; async: after --flush_ms");
DEFINE_int64(threads, kDefaults.threads, "number of threads that commit");
DEFINE_int64(records, kDefaults.records, "number of records; 8-byte keys, 120-byte values");
DEFINE_double(seconds, kDefaults.seconds, "measured time, seconds");
DEFINE_double(warmup, kDefaults.warmup, "time before measuring, seconds");
DEFINE_int64(sample_ms, kDefaults.sample_ms, "length of a step of the time series, ms");
DEFINE_int64(flush_ms, kDefaults.flush_ms, "async: time between syncs of the log, ms");
DEFINE_int64(checkpoint_ms, kDefaults.checkpoint_ms,
             "time between checkpoints, for engines that checkpoint by time, ms");
DEFINE_int64(log_mib, kDefaults.log_mib,
             "size of the log that starts a checkpoint, for engines that checkpoint by it, MiB");
DEFINE_int64(memory_mib, kDefaults.memory_mib, "memory the engine may use, MiB");
DEFINE_string(delta, kDefaults.delta,
              "update by the engine's call for changing parts of a value: on or off");
DEFINE_int64(seed, kDefaults.seed, "seed of all random choices");
DEFINE_string(json, kDefaults.json, "file for the result as JSON; -: standard output");

namespace palimpsest::experiments {
namespace {

CommitFlags read_flags() {
  return {.engine = FLAGS_engine,
          .path = FLAGS_path,
          .durability = FLAGS_durability,
          .threads = FLAGS_threads,
          .records = FLAGS_records,
          .seconds = FLAGS_seconds,
          .warmup = FLAGS_warmup,
          .sample_ms = FLAGS_sample_ms,
          .flush_ms = FLAGS_flush_ms,
          .checkpoint_ms = FLAGS_checkpoint_ms,
          .log_mib = FLAGS_log_mib,
          .memory_mib = FLAGS_memory_mib,
          .delta = FLAGS_delta,
          .seed = FLAGS_seed,
          .json = FLAGS_json,
          .given = given_flags()};
}

void run() {
  const CommitFlags flags = read_flags();
  const CommitEngineEntry engine = find_engine(known_engines(), flags.engine);
  const CommitOptions options = make_options(flags, engine.traits);
  check_output_files(options.path, {{"json", options.json_file}});
  const CommitRunResult result = run_commits(options, engine, print_progress);
  print_result(options.json_file, summary(options, result), [&] {
    // The directory of the data is removed by now; its parent is on the same disk.
    const HostInfo host = describe_host(
        options.path.empty() ? "." : std::filesystem::absolute(options.path).parent_path());
    return to_json(options, result, host).dump(2) + "\n";
  });
}

}  // namespace
}  // namespace palimpsest::experiments

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  return bench_main(argc, argv, "log_bench",
                    "measure commits of small transactions; see docs/benchmarks/running.md", run);
}
