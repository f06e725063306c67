#include "experiments/log_bench/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/common/result_json.h"

namespace palimpsest::experiments {
namespace {

using nlohmann::json;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double commits_per_second(const CommitOptions& options, const CommitRunResult& result) {
  return static_cast<double>(result.latency_ns.count()) / options.seconds();
}

json time_series(const CommitOptions& options, const CommitRunResult& result) {
  const double step_seconds = std::chrono::duration<double>(options.step).count();
  json series = json::array();
  for (const Timeline::Step& step : result.series) {
    series.push_back({{"seconds", step_seconds * static_cast<double>(series.size() + 1)},
                      {"commits", step.commits},
                      {"p50_us", microseconds(step.p50_ns)},
                      {"p99_us", microseconds(step.p99_ns)},
                      {"max_us", microseconds(step.max_ns)}});
  }
  return series;
}

json workload(const CommitOptions& options) {
  json fields = {{"benchmark", "log_bench"},
                 {"schema_version", kCommitSchemaVersion},
                 {"engine", options.engine},
                 {"durability", std::string(name_of(options.durability))},
                 {"threads", options.threads},
                 {"records", options.records},
                 {"value_bytes", kValueBytes},
                 {"changed_bytes", kFieldBytes},
                 {"memory_bytes", options.memory_bytes},
                 {"warmup_seconds", options.warmup_seconds},
                 {"seconds", options.seconds()},
                 {"sample_ms", options.step.count()},
                 {"checkpoint_ms", options.checkpoint_every.count()},
                 {"seed", options.seed}};
  if (options.durability == Durability::async) {
    fields["flush_ms"] = options.flush_every.count();
  }
  if (options.log_bytes_max) {
    fields["log_bytes_max"] = *options.log_bytes_max;
  }
  if (options.delta) {
    fields["delta"] = *options.delta;
  }
  return fields;
}

std::string per_commit(std::string_view what, std::optional<std::uint64_t> bytes,
                       std::uint64_t commits) {
  return bytes ? fmt::format(", {:.1f} {}", ratio(*bytes, commits), what) : std::string();
}

}  // namespace

json to_json(const CommitOptions& options, const CommitRunResult& result, const HostInfo& host) {
  json object = workload(options);
  object["commits"] = result.latency_ns.count();
  object["commits_per_s"] = commits_per_second(options, result);
  object["latency_us"] = latency_json(result.latency_ns);
  object["commits_with_warmup"] = result.commits;
  if (result.log.record_bytes) {
    object["log_record_bytes"] = *result.log.record_bytes;
    object["log_record_bytes_per_commit"] = ratio(*result.log.record_bytes, result.commits);
  }
  if (result.log.log_bytes) {
    object["log_bytes"] = *result.log.log_bytes;
    object["log_bytes_per_commit"] = ratio(*result.log.log_bytes, result.commits);
  }
  if (result.log.checkpoints) {
    object["checkpoints"] = *result.log.checkpoints;
  }
  object["write_bytes"] = result.write_bytes;
  object["write_bytes_per_commit"] = ratio(result.write_bytes, result.commits);
  object["load_seconds"] = result.load_seconds;
  object["durable_by"] = result.durability_description;
  object["series"] = time_series(options, result);
  add_host(object, host);
  return object;
}

std::string summary(const CommitOptions& options, const CommitRunResult& result) {
  const Histogram& latency = result.latency_ns;
  return fmt::format(
      "{}: {}, {} threads, {:.1f} s: {:.0f} commits/s ({})\n"
      "  latency p50 {:.1f} us, p99 {:.1f} us, p99.9 {:.1f} us, max {:.1f} us\n"
      "  a commit: {:.1f} bytes written{}{}\n",
      options.engine, name_of(options.durability), options.threads, options.seconds(),
      commits_per_second(options, result), result.durability_description,
      microseconds(latency.quantile(0.5)), microseconds(latency.quantile(0.99)),
      microseconds(latency.quantile(0.999)), microseconds(latency.max()),
      ratio(result.write_bytes, result.commits),
      per_commit("of log records", result.log.record_bytes, result.commits),
      per_commit("of log", result.log.log_bytes, result.commits));
}

}  // namespace palimpsest::experiments
