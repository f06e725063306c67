// kv_bench: lookups, updates and scans of small records, one run per call, one JSON object per run.
#include <gflags/gflags.h>

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/kv_bench/driver.h"
#include "experiments/kv_bench/engines.h"
#include "experiments/kv_bench/options.h"
#include "experiments/kv_bench/report.h"

namespace palimpsest::experiments {
namespace {
const FlagValues kDefaults;
}
}  // namespace palimpsest::experiments

using palimpsest::experiments::kDefaults;

DEFINE_string(engine, kDefaults.engine, "engine to measure");
DEFINE_string(path, kDefaults.path, "directory of the data; loaded first if empty");
DEFINE_int64(memory_mib, kDefaults.memory_mib, "memory the engine may use, MiB");
DEFINE_int64(page_kib, kDefaults.page_kib, "page (block) size, KiB: 4, 8, 16, 32 or 64");
DEFINE_int64(records, kDefaults.records, "number of records; keys are 8 bytes");
DEFINE_int64(value_bytes, kDefaults.value_bytes, "size of a value, bytes");
DEFINE_int64(threads, kDefaults.threads, "number of threads that operate");
DEFINE_string(mode, kDefaults.mode, "load, lookup, update, scan or mixed");
DEFINE_string(distribution, kDefaults.distribution, "which records: uniform or zipf");
DEFINE_double(theta, kDefaults.theta, "skew of zipf, between 0 and 1");
DEFINE_double(seconds, kDefaults.seconds, "measured time, seconds");
DEFINE_double(warmup, kDefaults.warmup, "time before measuring, seconds");
DEFINE_int64(warmup_threads, kDefaults.warmup_threads, "threads of the warm-up; 0: as --threads");
DEFINE_string(json, kDefaults.json, "file for the result as JSON; -: standard output");
DEFINE_int64(sample_ms, kDefaults.sample_ms,
             "time series in the JSON, ms between samples; 0: none");
DEFINE_int64(seed, kDefaults.seed, "seed of all random choices");
DEFINE_string(double_write, kDefaults.double_write,
              "palimpsest: write pages twice, so that none is lost when torn: on or off");
DEFINE_string(load_order, kDefaults.load_order, "order of insertion: ascending or random");
DEFINE_int64(update_percent, kDefaults.update_percent, "share of updates in --mode=mixed");
DEFINE_int64(scan_length, kDefaults.scan_length, "records of a scan; 0: the whole table");
DEFINE_int64(latency_every, kDefaults.latency_every,
             "time every n-th operation; 0: 16 if the data fits memory, else 1");
DEFINE_bool(reload, kDefaults.reload, "remove what the path holds and load again");

namespace palimpsest::experiments {
namespace {

FlagValues read_flags() {
  return {.engine = FLAGS_engine,
          .path = FLAGS_path,
          .memory_mib = FLAGS_memory_mib,
          .page_kib = FLAGS_page_kib,
          .records = FLAGS_records,
          .value_bytes = FLAGS_value_bytes,
          .threads = FLAGS_threads,
          .mode = FLAGS_mode,
          .distribution = FLAGS_distribution,
          .theta = FLAGS_theta,
          .seconds = FLAGS_seconds,
          .warmup = FLAGS_warmup,
          .warmup_threads = FLAGS_warmup_threads,
          .json = FLAGS_json,
          .sample_ms = FLAGS_sample_ms,
          .seed = FLAGS_seed,
          .double_write = FLAGS_double_write,
          .load_order = FLAGS_load_order,
          .update_percent = FLAGS_update_percent,
          .scan_length = FLAGS_scan_length,
          .latency_every = FLAGS_latency_every,
          .reload = FLAGS_reload,
          .given = given_flags()};
}

void run() {
  const FlagValues flags = read_flags();
  const EngineEntry engine = find_engine(known_engines(), flags.engine);
  const Options options = make_options(flags, engine.traits);
  check_output_files(options.path, {{"json", options.json_file}});
  const RunResult result = run_benchmark(options, engine, print_progress);
  print_result(options.json_file, summary(options, result), [&] {
    const HostInfo host = describe_host(options.path.empty() ? "." : options.path);
    return to_json(options, result, host).dump(2) + "\n";
  });
}

}  // namespace
}  // namespace palimpsest::experiments

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  return bench_main(argc, argv, "kv_bench",
                    "measure a key-value engine; see docs/benchmarks/running.md", run);
}
