#include "experiments/kv_bench/options.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace palimpsest::experiments {
namespace {

constexpr std::int64_t kThreadsMax = 1024;
constexpr std::int64_t kPageKibMin = 4;
constexpr std::int64_t kPageKibMax = 64;
constexpr std::int64_t kValueBytesMax = 65536;
constexpr std::int64_t kLatencyEveryMax = 1'000'000;
/// In memory an operation takes no more time than a dozen readings of the clock.
constexpr std::uint32_t kLatencyEveryInMemory = 16;

void refuse_meaningless(const FlagValues& flags, const EngineTraits& engine,
                        const Options& options) {
  MeaningCheck check(flags.given);
  const bool picks_records = options.mode == Mode::lookup || options.mode == Mode::update ||
                             options.mode == Mode::mixed || options.scan_length > 0;
  check.require(options.mode != Mode::load,
                {"seconds", "warmup", "warmup_threads", "latency_every", "sample_ms"},
                "with --mode=load");
  check.require(picks_records, {"distribution", "theta", "seed"},
                fmt::format("with --mode={}, which touches every record", name_of(options.mode)));
  check.require(options.distribution == Distribution::zipf, {"theta"},
                "without --distribution=zipf");
  check.require(options.mode == Mode::mixed, {"update_percent"}, "without --mode=mixed");
  check.require(options.mode == Mode::scan, {"scan_length"}, "without --mode=scan");
  check.require(options.warmup_seconds > 0, {"warmup_threads"}, "with --warmup=0");
  check.require(!options.json_file.empty(), {"sample_ms"}, "without --json");
  check.require(engine.takes_double_write, {"double_write"},
                fmt::format("for engine {}", engine.name));
  check.require(engine.persistent, {"path", "memory_mib", "page_kib", "reload"},
                fmt::format("for engine {}, which keeps everything in memory", engine.name));
}

void check_scale(const FlagValues& flags, const EngineTraits& engine) {
  in_range("memory_mib", flags.memory_mib, 1, std::int64_t{1} << 30);
  if (engine.persistent && flags.memory_mib < engine.memory_mib_min) {
    throw UsageError(fmt::format("--memory_mib={}: too small; {} needs at least {} MiB",
                                 flags.memory_mib, engine.name, engine.memory_mib_min));
  }
  in_range("page_kib", flags.page_kib, kPageKibMin, kPageKibMax);
  if ((flags.page_kib & (flags.page_kib - 1)) != 0) {
    throw UsageError(fmt::format("--page_kib={}: must be a power of two", flags.page_kib));
  }
  if (engine.page_kib_fixed != 0 && flags.page_kib != engine.page_kib_fixed) {
    throw UsageError(fmt::format("--page_kib={}: {} has pages of {} KiB only", flags.page_kib,
                                 engine.name, engine.page_kib_fixed));
  }
  in_range("records", flags.records, 1, std::int64_t{1} << 40);
  in_range("value_bytes", flags.value_bytes, std::int64_t{kValueBytesMin}, kValueBytesMax);
  in_range("threads", flags.threads, 1, kThreadsMax);
  in_range("warmup_threads", flags.warmup_threads, 0, kThreadsMax);
}

/// Every engine here keeps up to a quarter page of key and value inside its pages. Larger values
/// can be loaded and looked up; Palimpsest neither changes them in place nor shows them in scans of
/// its leaves.
void check_value_bytes(const FlagValues& flags, Mode mode) {
  if ((mode == Mode::update || mode == Mode::mixed) &&
      flags.value_bytes > flags.page_kib * 1024 / 4 - std::int64_t{kKeyBytes}) {
    throw UsageError(fmt::format(
        "--value_bytes={}: at most a quarter of a page with --mode={}; larger values are not "
        "changed",
        flags.value_bytes, name_of(mode)));
  }
}

}  // namespace

std::string_view name_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::load: return "load";
    case Mode::lookup: return "lookup";
    case Mode::update: return "update";
    case Mode::scan: return "scan";
    case Mode::mixed: return "mixed";
  }
  return "unknown";
}

std::string_view name_of(Distribution distribution) noexcept {
  return distribution == Distribution::uniform ? "uniform" : "zipf";
}

std::string_view name_of(LoadOrder order) noexcept {
  return order == LoadOrder::ascending ? "ascending" : "random";
}

Options make_options(const FlagValues& flags, const EngineTraits& engine) {
  check_scale(flags, engine);
  Options options;
  options.engine = engine.name;
  options.path = flags.path;
  options.memory_bytes = static_cast<std::uint64_t>(flags.memory_mib) << 20U;
  options.page_bytes = static_cast<std::uint32_t>(flags.page_kib * 1024);
  options.records = static_cast<std::uint64_t>(flags.records);
  options.value_bytes = static_cast<std::uint32_t>(flags.value_bytes);
  options.threads = static_cast<std::uint32_t>(flags.threads);
  options.warmup_threads = flags.warmup_threads == 0
                               ? options.threads
                               : static_cast<std::uint32_t>(flags.warmup_threads);
  options.mode =
      parse_name("mode", flags.mode,
                 std::array{Mode::load, Mode::lookup, Mode::update, Mode::scan, Mode::mixed});
  check_value_bytes(flags, options.mode);
  options.distribution = parse_name("distribution", flags.distribution,
                                    std::array{Distribution::uniform, Distribution::zipf});
  if (!(flags.theta > 0.0 && flags.theta < 1.0)) {
    throw UsageError(
        fmt::format("--theta={}: must lie between 0 and 1, both excluded", flags.theta));
  }
  options.theta = flags.theta;
  options.seconds = seconds_in_range("seconds", flags.seconds, false);
  options.warmup_seconds = seconds_in_range("warmup", flags.warmup, true);
  options.json_file = flags.json;
  options.sample_ms = static_cast<std::uint32_t>(in_range("sample_ms", flags.sample_ms, 0, 60'000));
  options.seed = static_cast<std::uint64_t>(flags.seed);
  const bool double_write = parse_switch("double_write", flags.double_write);
  if (engine.takes_double_write) {
    options.double_write = double_write;
  }
  options.load_order = parse_name("load_order", flags.load_order,
                                  std::array{LoadOrder::ascending, LoadOrder::random});
  options.load_order_given = flags.given.contains("load_order");
  options.update_percent =
      static_cast<std::uint32_t>(in_range("update_percent", flags.update_percent, 0, 100));
  options.scan_length =
      static_cast<std::uint64_t>(in_range("scan_length", flags.scan_length, 0, flags.records));
  options.latency_every = static_cast<std::uint32_t>(
      in_range("latency_every", flags.latency_every, 0, kLatencyEveryMax));
  if (options.latency_every == 0) {
    options.latency_every =
        options.fits_in_memory() || !engine.persistent ? kLatencyEveryInMemory : 1;
  }
  options.reload = flags.reload;
  refuse_meaningless(flags, engine, options);
  if (engine.persistent && options.path.empty()) {
    throw UsageError("--path: name the directory of the data");
  }
  return options;
}

}  // namespace palimpsest::experiments
