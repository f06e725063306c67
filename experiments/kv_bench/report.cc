#include "experiments/kv_bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/common/result_json.h"

namespace palimpsest::experiments {
namespace {

using nlohmann::json;

constexpr double kMib = 1024.0 * 1024.0;

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
}

json time_series(const PhaseResult& measured) {
  json series = json::array();
  for (const Sample& sample : measured.series) {
    series.push_back({{"seconds", sample.seconds},
                      {"ops", sample.ops},
                      {"page_reads", sample.page_reads},
                      {"page_writes", sample.page_writes},
                      {"resident_bytes", sample.resident_bytes}});
  }
  return series;
}

json workload(const Options& options) {
  const bool single = options.mode != Mode::scan || options.scan_length > 0;
  json fields = {{"engine", options.engine},
                 {"mode", std::string(name_of(options.mode))},
                 {"records", options.records},
                 {"value_bytes", options.value_bytes},
                 {"page_kib", options.page_bytes / 1024},
                 {"threads", options.threads},
                 {"memory_bytes", options.memory_bytes},
                 {"seed", options.seed}};
  if (options.double_write) {
    fields["double_write"] = *options.double_write;
  }
  if (options.mode == Mode::load) {
    fields["load_order"] = std::string(name_of(options.load_order));
    return fields;
  }
  fields["warmup_seconds"] = options.warmup_seconds;
  fields["warmup_threads"] = options.warmup_threads;
  fields["latency_every"] = options.latency_every;
  fields["operation_unit"] = options.mode == Mode::scan ? "record" : "operation";
  fields["latency_unit"] = options.mode == Mode::scan ? "scan" : "operation";
  if (single) {
    fields["distribution"] = std::string(name_of(options.distribution));
  }
  if (single && options.distribution == Distribution::zipf) {
    fields["theta"] = options.theta;
  }
  if (options.mode == Mode::mixed) {
    fields["update_percent"] = options.update_percent;
  }
  if (options.mode == Mode::scan) {
    fields["scan_length"] = options.scan_length;
  }
  return fields;
}

/// The measured phase: the run, or, without one, the load.
json measurement(const Options& options, const RunResult& result) {
  const Sample& end = result.measured.end;
  const bool load_only = options.mode == Mode::load;
  const double seconds = load_only ? result.load.seconds + result.load.settle_seconds : end.seconds;
  const std::uint64_t ops = load_only ? result.load.records : end.ops;
  return {{"seconds", seconds},
          {"ops", ops},
          {"ops_per_s", per_second(ops, seconds)},
          {"latency_us", latency_json(result.measured.latency_ns)},
          {"page_reads", end.page_reads},
          {"page_writes", end.page_writes},
          {"page_reads_per_s", per_second(end.page_reads, end.seconds)},
          {"page_writes_per_s", per_second(end.page_writes, end.seconds)},
          {"page_counts", result.engine_counts_pages ? "engine" : "bytes / page size"},
          {"read_bytes", end.read_bytes},
          {"write_bytes", end.write_bytes},
          {"prefilled", result.prefilled},
          {"data_bytes", result.data_bytes},
          {"resident_bytes_before_open", result.resident_bytes_before_open},
          {"resident_bytes_max", result.resident_bytes_max}};
}

}  // namespace

json to_json(const Options& options, const RunResult& result, const HostInfo& host) {
  json object = workload(options);
  object.update(measurement(options, result));
  object["schema_version"] = kResultSchemaVersion;
  if (result.load.loaded) {
    object["load"] = {{"records", result.load.records},
                      {"seconds", result.load.seconds},
                      {"settle_seconds", result.load.settle_seconds}};
  }
  if (!result.measured.series.empty()) {
    object["series"] = time_series(result.measured);
  }
  add_host(object, host);
  object["io"] = result.io_description;
  return object;
}

std::string summary(const Options& options, const RunResult& result) {
  std::string text;
  if (result.load.loaded) {
    text += fmt::format("{}: loaded {} records in {:.1f} s, settled in {:.1f} s\n", options.engine,
                        result.load.records, result.load.seconds, result.load.settle_seconds);
  }
  if (options.mode != Mode::load) {
    const Sample& end = result.measured.end;
    const Histogram& latency = result.measured.latency_ns;
    text += fmt::format(
        "{}: {}, {} threads, {:.1f} s: {:.0f} {}/s\n"
        "  latency p50 {:.1f} us, p99 {:.1f} us, p99.9 {:.1f} us, max {:.1f} us (one in {} timed)\n"
        "  {:.0f} page reads/s, {:.0f} page writes/s, {:.1f} MB/s read, {:.1f} MB/s written\n",
        options.engine, name_of(options.mode), options.threads, end.seconds,
        per_second(end.ops, end.seconds), options.mode == Mode::scan ? "records" : "ops",
        microseconds(latency.quantile(0.5)), microseconds(latency.quantile(0.99)),
        microseconds(latency.quantile(0.999)), microseconds(latency.max()), options.latency_every,
        per_second(end.page_reads, end.seconds), per_second(end.page_writes, end.seconds),
        per_second(end.read_bytes, end.seconds) / 1e6,
        per_second(end.write_bytes, end.seconds) / 1e6);
  }
  const std::uint64_t grown =
      result.resident_bytes_max -
      std::min(result.resident_bytes_max, result.resident_bytes_before_open);
  text += fmt::format(
      "  memory {:.1f} MiB configured, {:.1f} MiB resident beyond the start; data {:.1f} MiB\n",
      static_cast<double>(options.memory_bytes) / kMib, static_cast<double>(grown) / kMib,
      static_cast<double>(result.data_bytes) / kMib);
  return text;
}

}  // namespace palimpsest::experiments
