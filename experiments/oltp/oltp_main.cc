#include "experiments/oltp/oltp_main.h"

#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "experiments/common/bench_main.h"
#include "experiments/common/host_info.h"
#include "experiments/common/output_files.h"
#include "experiments/common/progress_display.h"
#include "experiments/common/result_json.h"
#include "experiments/oltp/driver.h"
#include "experiments/oltp/report.h"

namespace palimpsest::experiments::oltp {
namespace {
const FlagValues kDefaults;
}
}  // namespace palimpsest::experiments::oltp

using palimpsest::experiments::oltp::kDefaults;

DEFINE_string(engine, kDefaults.engine, "engine to measure");
DEFINE_string(path, kDefaults.path, "directory of the data; loaded first if it does not exist");
DEFINE_int64(memory_mib, kDefaults.memory_mib, "memory the engine may use, MiB");
DEFINE_int64(threads, kDefaults.threads, "number of threads that run transactions");
DEFINE_double(seconds, kDefaults.seconds, "measured time, seconds; 0: load and check only");
DEFINE_double(warmup, kDefaults.warmup, "time before measuring, seconds");
DEFINE_string(
    isolation, kDefaults.isolation,
    "isolation: none, read_committed, snapshot or serializable; default: the engine's own");
DEFINE_string(
    durability, kDefaults.durability,
    "async: commits return at once and become durable soon; sync: they return when durable");
DEFINE_string(write_conflicts, kDefaults.write_conflicts,
              "palimpsest: detect conflicts between transactions that change the same row: on, or "
              "off with one thread");
DEFINE_string(versions, kDefaults.versions,
              "palimpsest at isolation snapshot: keep versions: on, or off with one thread");
DEFINE_double(
    rate, kDefaults.rate,
    "transactions started each second, by all threads together, with latency counted from the "
    "scheduled start; default: a thread starts its next one when its last has ended");
DEFINE_bool(long_reader, kDefaults.long_reader,
            "beside the threads, keep a read-only transaction open during the whole run");
DEFINE_double(
    reader_turns, kDefaults.reader_turns,
    "with --long_reader: alternate between so many seconds with the reader open and as many "
    "without, and report the share of throughput left beside it; 0: it is open all the time");
DEFINE_int64(sample_ms, kDefaults.sample_ms, "length of an interval of the series, ms");
DEFINE_string(json, kDefaults.json, "file for the result as JSON; -: standard output");
DEFINE_string(series, kDefaults.series, "file for the series of intervals, as CSV");
DEFINE_bool(check, kDefaults.check, "check the consistency conditions after the run");
DEFINE_int64(seed, kDefaults.seed, "seed of the population and of all random choices");

namespace palimpsest::experiments::oltp {
namespace {

FlagValues read_flags(std::int64_t scale, const WorkloadOptions& of_workload) {
  return {.engine = FLAGS_engine,
          .path = FLAGS_path,
          .memory_mib = FLAGS_memory_mib,
          .threads = FLAGS_threads,
          .seconds = FLAGS_seconds,
          .warmup = FLAGS_warmup,
          .isolation = FLAGS_isolation,
          .durability = FLAGS_durability,
          .write_conflicts = FLAGS_write_conflicts,
          .versions = FLAGS_versions,
          .rate = FLAGS_rate,
          .long_reader = FLAGS_long_reader,
          .reader_turns = FLAGS_reader_turns,
          .sample_ms = FLAGS_sample_ms,
          .json = FLAGS_json,
          .series = FLAGS_series,
          .check = FLAGS_check,
          .seed = FLAGS_seed,
          .scale = scale,
          .of_workload = of_workload,
          .given = given_flags()};
}

}  // namespace

void run_flags(const Workload& workload, const std::vector<EngineEntry>& engines,
               std::int64_t scale, const WorkloadOptions& of_workload) {
  const FlagValues flags = read_flags(scale, of_workload);
  const EngineEntry engine = find_engine(engines, flags.engine);
  const Options options = make_options(flags, workload.traits, engine.traits);
  check_output_files(options.path, {{"json", options.json_file}, {"series", options.series_file}});
  ProgressDisplay display(stderr);
  const RunResult result = run_workload(options, workload, engine, display);
  print_result(options.json_file, summary(options, workload, result), [&] {
    return to_json(options, workload, result, describe_host(options.path)).dump(2) + "\n";
  });
  if (result.measured && !options.series_file.empty()) {
    write_file(options.series_file, series_csv(workload, *result.measured));
  }
  if (result.check && result.check->violations != 0) {
    throw std::runtime_error(
        fmt::format("{} violations of the consistency conditions, the first: {}",
                    result.check->violations, result.check->first.front()));
  }
}

}  // namespace palimpsest::experiments::oltp
