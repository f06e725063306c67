// log_bench: small transactions committed durably, one run per call, one JSON object per run.
#include <fmt/format.h>
#include <gflags/gflags.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/common/host_info.h"
#include "experiments/common/result_json.h"
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
DEFINE_int64(threads, kDefaults.threads, "threads that commit");
DEFINE_int64(records, kDefaults.records, "number of records; 8-byte keys, 120-byte values");
DEFINE_double(seconds, kDefaults.seconds, "measured time, seconds");
DEFINE_double(warmup, kDefaults.warmup, "time before measuring, seconds");
DEFINE_int64(sample_ms, kDefaults.sample_ms, "length of a step of the time series, ms");
DEFINE_int64(flush_ms, kDefaults.flush_ms, "async: the log is made durable this often, ms");
DEFINE_int64(checkpoint_ms, kDefaults.checkpoint_ms,
             "engines that checkpoint by time do so this often, ms");
DEFINE_int64(memory_mib, kDefaults.memory_mib, "memory the engine may use, MiB");
DEFINE_string(delta, kDefaults.delta,
              "by the engine's call for changes of parts of a value: on or off");
DEFINE_int64(seed, kDefaults.seed, "seed of all random choices");
DEFINE_string(json, kDefaults.json, "file for the result as JSON; -: standard output");

namespace palimpsest::experiments {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

CommitFlags read_flags() {
  CommitFlags flags{.engine = FLAGS_engine,
                    .path = FLAGS_path,
                    .durability = FLAGS_durability,
                    .threads = FLAGS_threads,
                    .records = FLAGS_records,
                    .seconds = FLAGS_seconds,
                    .warmup = FLAGS_warmup,
                    .sample_ms = FLAGS_sample_ms,
                    .flush_ms = FLAGS_flush_ms,
                    .checkpoint_ms = FLAGS_checkpoint_ms,
                    .memory_mib = FLAGS_memory_mib,
                    .delta = FLAGS_delta,
                    .seed = FLAGS_seed,
                    .json = FLAGS_json,
                    .given = {}};
  std::vector<gflags::CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  for (const gflags::CommandLineFlagInfo& flag : all) {
    if (!flag.is_default) {
      flags.given.insert(flag.name);
    }
  }
  return flags;
}

CommitEngineEntry find_engine(const std::string& name) {
  std::string known;
  for (const CommitEngineEntry& entry : known_engines()) {
    if (entry.traits.name == name) {
      return entry;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.traits.name);
  }
  throw UsageError(fmt::format("--engine={}: this binary knows {}", name, known));
}

void run() {
  const CommitFlags flags = read_flags();
  const CommitEngineEntry engine = find_engine(flags.engine);
  const CommitOptions options = make_options(flags, engine.traits);
  const CommitRunResult result =
      run_commits(options, engine, [](std::string_view line) { fmt::print(stderr, "{}\n", line); });
  const bool json_to_stdout = options.json_file == "-";
  fmt::print(json_to_stdout ? stderr : stdout, "{}", summary(options, result));
  if (options.json_file.empty()) {
    return;
  }
  // The directory of the data is gone; its parent lies on the same disk.
  const HostInfo host = describe_host(
      options.path.empty() ? "." : std::filesystem::absolute(options.path).parent_path());
  const std::string text = to_json(options, result, host).dump(2) + "\n";
  if (json_to_stdout) {
    fmt::print("{}", text);
  } else {
    write_file(options.json_file, text);
  }
}

}  // namespace
}  // namespace palimpsest::experiments

int main(int argc, char** argv) {
  using namespace palimpsest::experiments;
  gflags::SetUsageMessage("measure commits of small transactions; see docs/benchmarks.md");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  try {
    if (argc > 1) {
      throw UsageError(fmt::format("{}: only flags are understood (--help)", argv[1]));
    }
    run();
    return 0;
  } catch (const UsageError& error) {
    fmt::print(stderr, "log_bench: {}\n", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "log_bench: {}\n", error.what());
    return kExitFailed;
  }
}
