#include "experiments/oltp/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace palimpsest::experiments::oltp {
namespace {

constexpr std::int64_t kThreadsMax = 1024;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30;
constexpr std::int64_t kSampleMsMax = 60'000;
constexpr double kRateMax = 1e7;
constexpr double kReaderTurnMin = 0.1;  ///< seconds
/// Of the series: each takes some hundred bytes.
constexpr double kIntervalsMax = 1e6;

/// The value of that name, which the engine must support; its first one if none was named.
template <class Enum, std::size_t kCount>
Enum choose(std::string_view flag, const std::string& text, const std::array<Enum, kCount>& all,
            const std::vector<Enum>& offered, const std::string& engine) {
  if (text.empty()) {
    return offered.front();
  }
  const Enum value = parse_name(flag, text, all);
  if (std::find(offered.begin(), offered.end(), value) == offered.end()) {
    std::string names;
    for (const Enum one : offered) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(one));
    }
    throw UsageError(fmt::format("--{}={}: engine {} has {}", flag, text, engine, names));
  }
  return value;
}

std::uint64_t memory_bytes(const FlagValues& flags, const StoreTraits& engine) {
  in_range("memory_mib", flags.memory_mib, 1, kMemoryMibMax);
  if (flags.memory_mib < engine.memory_mib_min) {
    throw UsageError(fmt::format("--memory_mib={}: too small; {} needs at least {} MiB",
                                 flags.memory_mib, engine.name, engine.memory_mib_min));
  }
  return static_cast<std::uint64_t>(flags.memory_mib) << 20U;
}

std::optional<double> rate(const FlagValues& flags) {
  if (!flags.given.contains("rate") && flags.rate == 0) {
    return std::nullopt;
  }
  if (!std::isfinite(flags.rate) || flags.rate <= 0 || flags.rate > kRateMax) {
    throw UsageError(
        fmt::format("--rate={}: must be more than 0 and at most {}", flags.rate, kRateMax));
  }
  return flags.rate;
}

/// On or off, for one thread; nothing if the engine has no such switch.
std::optional<bool> measuring_switch(const char* flag, const std::string& text,
                                     const FlagValues& flags, const StoreTraits& engine) {
  const bool is_on = parse_switch(flag, text);
  if (!engine.has_measuring_switches) {
    MeaningCheck(flags.given).require(false, {flag}, fmt::format("with engine {}", engine.name));
    return std::nullopt;
  }
  if (!is_on && flags.threads > 1) {
    throw UsageError(
        fmt::format("--{}=off: for one thread only; --threads={}", flag, flags.threads));
  }
  return is_on;
}

/// The value that was typed for this flag, or its default.
std::string value_of(const WorkloadFlag& flag, const WorkloadOptions& typed) {
  const auto found = typed.find(flag.name);
  if (found == typed.end()) {
    return flag.values.front();
  }
  if (std::find(flag.values.begin(), flag.values.end(), found->second) == flag.values.end()) {
    throw UsageError(fmt::format("--{}={}: unknown; one of {}", flag.name, found->second,
                                 fmt::join(flag.values, ", ")));
  }
  return found->second;
}

WorkloadOptions options_of_workload(const FlagValues& flags, const WorkloadTraits& workload) {
  WorkloadOptions options;
  for (const WorkloadFlag& flag : workload.flags) {
    options.emplace(flag.name, value_of(flag, flags.of_workload));
  }
  for (const auto& [name, value] : flags.of_workload) {
    if (!options.contains(name)) {
      throw UsageError(fmt::format("--{} has no effect with {}", name, workload.name));
    }
  }
  return options;
}

void check_reader(const FlagValues& flags, const Options& options, bool is_weak) {
  MeaningCheck(flags.given).require(options.long_reader, {"reader_turns"}, "without --long_reader");
  if (options.long_reader && !options.versions.value_or(true)) {
    throw UsageError("--long_reader: with --versions=off only one transaction runs at a time");
  }
  if (options.long_reader && is_weak) {
    throw UsageError(
        fmt::format("--long_reader: at isolation {} no transaction keeps seeing one state",
                    name_of(options.isolation)));
  }
  if (const auto& turns = options.reader_turns) {
    if (!std::isfinite(*turns) || *turns < kReaderTurnMin || 2 * *turns >= options.seconds) {
      throw UsageError(
          fmt::format("--reader_turns={}: must be at least {} and less than half of "
                      "--seconds={}",
                      *turns, kReaderTurnMin, options.seconds));
    }
  }
}

void check_sense(const FlagValues& flags, const WorkloadTraits& workload, const Options& options) {
  const MeaningCheck check(flags.given);
  const bool runs = options.seconds > 0;
  check.require(
      runs, {"warmup", "rate", "sample_ms", "series", "durability", "long_reader", "reader_turns"},
      "with --seconds=0");
  check.require(!options.series_file.empty(), {"sample_ms"}, "without --series");
  for (const WorkloadFlag& flag : workload.flags) {
    check.require(runs, {flag.name.c_str()}, "with --seconds=0");
  }
  const bool is_weak =
      options.isolation == Isolation::none || options.isolation == Isolation::read_committed;
  if (options.check && is_weak && options.threads > 1 && runs) {
    throw UsageError(
        fmt::format("--check: at isolation {} only one thread is guaranteed a consistent database; "
                    "--threads={}",
                    name_of(options.isolation), options.threads));
  }
  MeaningCheck(flags.given)
      .require(options.isolation == Isolation::snapshot, {"versions"}, "without snapshots");
  check_reader(flags, options, is_weak);
  if (options.seconds * 1000 / static_cast<double>(options.sample.count()) > kIntervalsMax) {
    throw UsageError(fmt::format("--seconds={}: more than {} intervals of --sample_ms={}",
                                 options.seconds, kIntervalsMax, flags.sample_ms));
  }
}

}  // namespace

Options make_options(const FlagValues& flags, const WorkloadTraits& workload,
                     const StoreTraits& engine) {
  Options options;
  options.engine = engine.name;
  options.path = flags.path;
  options.memory_bytes = memory_bytes(flags, engine);
  options.threads = static_cast<std::uint32_t>(in_range("threads", flags.threads, 1, kThreadsMax));
  options.seconds = seconds_in_range("seconds", flags.seconds, true);
  options.warmup_seconds = seconds_in_range("warmup", flags.warmup, true);
  options.isolation = choose("isolation", flags.isolation,
                             std::array{Isolation::none, Isolation::read_committed,
                                        Isolation::snapshot, Isolation::serializable},
                             engine.isolations, engine.name);
  options.durability =
      choose("durability", flags.durability, std::array{Durability::async, Durability::sync},
             engine.durabilities, engine.name);
  options.write_conflicts =
      measuring_switch("write_conflicts", flags.write_conflicts, flags, engine);
  options.versions = measuring_switch("versions", flags.versions, flags, engine);
  options.rate = rate(flags);
  options.long_reader = flags.long_reader;
  if (flags.given.contains("reader_turns") || flags.reader_turns != 0) {
    options.reader_turns = flags.reader_turns;
  }
  options.sample =
      std::chrono::milliseconds(in_range("sample_ms", flags.sample_ms, 1, kSampleMsMax));
  options.json_file = flags.json;
  options.series_file = flags.series;
  options.check = flags.check;
  options.seed = static_cast<std::uint64_t>(flags.seed);
  options.scale =
      static_cast<std::uint64_t>(in_range(workload.scale_flag, flags.scale, 1, workload.scale_max));
  options.of_workload = options_of_workload(flags, workload);
  check_sense(flags, workload, options);
  if (options.path.empty()) {
    throw UsageError("--path: name the directory of the data");
  }
  return options;
}

}  // namespace palimpsest::experiments::oltp
