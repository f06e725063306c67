#include "experiments/log_bench/options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace palimpsest::experiments {
namespace {

constexpr std::int64_t kThreadsMax = 256;
constexpr std::int64_t kRecordsMax = 1'000'000;
constexpr std::int64_t kMemoryMibMin = 64;
constexpr std::int64_t kLogMibMin = 64;
constexpr std::int64_t kLogMibMax = std::int64_t{1} << 20;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 20;
constexpr std::int64_t kMillisecondsMax = 600'000;
/// Each has a histogram of 30 KiB.
constexpr double kStepsMax = 10'000;

std::size_t steps_of(const CommitFlags& flags) {
  const double steps =
      std::floor(flags.seconds * 1000.0 / static_cast<double>(flags.sample_ms) + 1e-6);
  if (steps < 1) {
    throw UsageError(fmt::format("--seconds={}: shorter than one step of --sample_ms={}",
                                 flags.seconds, flags.sample_ms));
  }
  if (steps > kStepsMax) {
    throw UsageError(fmt::format("--seconds={}: more than {} steps of --sample_ms={}",
                                 flags.seconds, kStepsMax, flags.sample_ms));
  }
  return static_cast<std::size_t>(steps);
}

std::chrono::milliseconds milliseconds(std::string_view flag, std::int64_t value) {
  return std::chrono::milliseconds(in_range(flag, value, 1, kMillisecondsMax));
}

void refuse_meaningless(const CommitFlags& flags, const CommitEngineTraits& engine,
                        const CommitOptions& options) {
  const MeaningCheck check(flags.given);
  check.require(options.durability == Durability::async, {"flush_ms"},
                "without --durability=async");
  check.require(engine.takes_delta, {"delta"}, fmt::format("for engine {}", engine.name));
  check.require(engine.bounds_log, {"log_mib"}, fmt::format("for engine {}", engine.name));
  check.require(engine.checkpoints_by_time, {"checkpoint_ms"},
                fmt::format("for engine {}, which does not checkpoint by time", engine.name));
  check.require(engine.persistent, {"path", "durability", "flush_ms", "memory_mib"},
                fmt::format("for engine {}, which keeps everything in memory", engine.name));
}

}  // namespace

CommitOptions make_options(const CommitFlags& flags, const CommitEngineTraits& engine) {
  CommitOptions options;
  options.engine = engine.name;
  options.path = flags.path;
  options.durability =
      parse_name("durability", flags.durability, std::array{Durability::sync, Durability::async});
  options.threads = static_cast<std::uint32_t>(in_range("threads", flags.threads, 1, kThreadsMax));
  options.records = static_cast<std::uint64_t>(in_range("records", flags.records, 1, kRecordsMax));
  options.step = milliseconds("sample_ms", flags.sample_ms);
  (void)seconds_in_range("seconds", flags.seconds, false);
  options.steps = steps_of(flags);
  options.warmup_seconds = seconds_in_range("warmup", flags.warmup, true);
  options.flush_every = milliseconds("flush_ms", flags.flush_ms);
  options.checkpoint_every = milliseconds("checkpoint_ms", flags.checkpoint_ms);
  const std::int64_t mib = in_range("memory_mib", flags.memory_mib, kMemoryMibMin, kMemoryMibMax);
  options.memory_bytes = static_cast<std::uint64_t>(mib) << 20U;
  const std::int64_t log_mib = in_range("log_mib", flags.log_mib, kLogMibMin, kLogMibMax);
  if (engine.bounds_log) {
    options.log_bytes_max = static_cast<std::uint64_t>(log_mib) << 20U;
  }
  const bool delta = parse_switch("delta", flags.delta);
  if (engine.takes_delta) {
    options.delta = delta;
  }
  options.seed = static_cast<std::uint64_t>(flags.seed);
  options.json_file = flags.json;
  refuse_meaningless(flags, engine, options);
  if (engine.persistent && options.path.empty()) {
    throw UsageError("--path: name the directory for the data");
  }
  return options;
}

}  // namespace palimpsest::experiments
