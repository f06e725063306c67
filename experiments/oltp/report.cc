#include "experiments/oltp/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/common/chart.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments::oltp {
namespace {

using nlohmann::json;

constexpr double kMb = 1e6;
constexpr double kSecondsOfMinute = 60;

json number_or_null(const std::optional<std::uint64_t>& number) {
  return number ? json(*number) : json(nullptr);
}

double figure_of(const Figure& figure, const Interval& interval) {
  return kSecondsOfMinute * interval.per_second(interval.tally.commits[figure.type]);
}

constexpr ConflictReason reason_at(std::size_t index) {
  return static_cast<ConflictReason>(index + 1);
}

json aborts_json(const Tally& tally) {
  json aborts = {{"by_input", tally.all_rollbacks()}};
  for (std::size_t i = 0; i < kConflictReasons; ++i) {
    aborts[std::string(name_of(reason_at(i)))] = tally.conflicts[i];
  }
  return aborts;
}

json options_json(const EngineOptions& options) {
  json object = json::object();
  for (const EngineOption& option : options) {
    object[option.name] = option.value;
  }
  return object;
}

json workload_json(const Options& options, const Workload& workload, const RunResult& result) {
  return {
      {"schema_version", kResultSchemaVersion},
      {"workload", workload.traits.name},
      {"label", workload.traits.label},
      {"engine", options.engine},
      {"scale", options.scale},
      {"scale_unit", workload.traits.scale_flag},
      {"workload_options", options.of_workload},
      {"threads", options.threads},
      {"memory_bytes", options.memory_bytes},
      {"isolation", name_of(options.isolation)},
      {"durability", name_of(options.durability)},
      {"asynchronous_interval_ms", options.durability == Durability::async
                                       ? json(result.asynchronous_interval.count())
                                       : json(nullptr)},
      {"write_conflicts", options.write_conflicts ? json(*options.write_conflicts) : json(nullptr)},
      {"versions", options.versions ? json(*options.versions) : json(nullptr)},
      {"rate", options.rate ? json(*options.rate) : json(nullptr)},
      {"warmup_seconds", options.warmup_seconds},
      {"seed", options.seed},
      {"earlier_runs", result.measured ? json(result.earlier_runs) : json(nullptr)},
      {"read_everything_seconds",
       result.read_everything_seconds ? json(*result.read_everything_seconds) : json(nullptr)},
      {"description", result.description},
      {"engine_options", options_json(result.engine_options)}};
}

json long_reader_json(const Measurement& measured) {
  if (!measured.long_reader) {
    return nullptr;
  }
  const std::optional<ReaderShare>& share = measured.reader_share;
  return {{"looks", measured.long_reader->looks},
          {"restarts", measured.long_reader->restarts},
          {"share", share ? json{{"turns", share->turns},
                                 {"median", share->median},
                                 {"least", share->least},
                                 {"most", share->most}}
                          : json(nullptr)}};
}

/// The counts of the measured time.
json measurement_json(const Workload& workload, const Measurement& measured) {
  const Interval& total = measured.total;
  json commits = json::object();
  json rollbacks = json::object();
  json latencies = json::object();
  for (std::size_t type = 0; type < workload.types.size(); ++type) {
    commits[workload.types[type]] = total.tally.commits[type];
    rollbacks[workload.types[type]] = total.tally.rollbacks[type];
    latencies[workload.types[type]] = latency_json(total.tally.latency_ns[type]);
  }
  json fields = {{"seconds", total.seconds},
                 {"commits", total.tally.all_commits()},
                 {"commits_by_type", commits},
                 {"rollbacks_by_type", rollbacks},
                 {"aborts_by_reason", aborts_json(total.tally)},
                 {"tps", total.commits_per_second()},
                 {"latency_us", latencies},
                 {"log_bytes", number_or_null(total.store.log_bytes)},
                 {"page_reads", number_or_null(total.store.page_reads)},
                 {"page_writes", number_or_null(total.store.page_writes)},
                 {"read_bytes", total.process.read_bytes},
                 {"write_bytes", total.process.write_bytes},
                 {"data_bytes_start", measured.data_bytes_start},
                 {"data_bytes_end", measured.data_bytes_end},
                 {"data_bytes_from", measured.engine_counts_data ? "engine" : "files"},
                 {"version_bytes_max", number_or_null(measured.maxima.version_bytes)},
                 {"mapping_table_bytes_max", number_or_null(measured.maxima.mapping_table_bytes)},
                 {"orphan_tables_max", number_or_null(measured.maxima.orphan_tables)},
                 {"rss_bytes_max", measured.maxima.rss_bytes},
                 {"long_reader", long_reader_json(measured)}};
  if (workload.figure) {
    fields[workload.figure->key] = figure_of(*workload.figure, total);
  }
  return fields;
}

json load_json(const LoadResult& load) {
  return {{"rows", load.rows}, {"seconds", load.seconds}, {"settle_seconds", load.settle_seconds}};
}

std::string latency_table(const Workload& workload, const Tally& tally) {
  std::string text =
      fmt::format("  {:24} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "latency in us", "commits",
                  "p50", "p99", "p99.9", "max", "rolled back");
  for (std::size_t type = 0; type < workload.types.size(); ++type) {
    const Quantiles latency = quantiles_of(tally.latency_ns[type]);
    text += fmt::format("  {:24} {:10} {:10.1f} {:10.1f} {:10.1f} {:10.1f} {:12}\n",
                        workload.types[type], tally.commits[type], microseconds(latency.p50_ns),
                        microseconds(latency.p99_ns), microseconds(latency.p999_ns),
                        microseconds(latency.max_ns), tally.rollbacks[type]);
  }
  return text;
}

std::string aborts_text(const Tally& tally) {
  std::string text = fmt::format("  aborts: {} by input", tally.all_rollbacks());
  for (std::size_t i = 0; i < kConflictReasons; ++i) {
    if (tally.conflicts[i] != 0) {
      text += fmt::format(", {} {}", tally.conflicts[i], name_of(reason_at(i)));
    }
  }
  return text + (tally.all_conflicts() == 0 ? ", no conflict\n" : "; conflicts are tried again\n");
}

std::string costs_text(const Options& options, const Measurement& measured) {
  const Interval& total = measured.total;
  std::string text = fmt::format(
      "  data {:.1f} MB before, {:.1f} MB after; rss at most {:.1f} MB of {:.1f} MB configured\n",
      static_cast<double>(measured.data_bytes_start) / kMb,
      static_cast<double>(measured.data_bytes_end) / kMb,
      static_cast<double>(measured.maxima.rss_bytes) / kMb,
      static_cast<double>(options.memory_bytes) / kMb);
  text += fmt::format("  read {:.1f} MB/s, written {:.1f} MB/s",
                      total.per_second(total.process.read_bytes) / kMb,
                      total.per_second(total.process.write_bytes) / kMb);
  if (total.store.page_reads && total.store.page_writes) {
    text += fmt::format(", {:.0f} page reads/s, {:.0f} page writes/s",
                        total.per_second(*total.store.page_reads),
                        total.per_second(*total.store.page_writes));
  }
  if (total.store.log_bytes && total.tally.all_commits() != 0) {
    text += fmt::format(", {:.0f} bytes of log a commit",
                        static_cast<double>(*total.store.log_bytes) /
                            static_cast<double>(total.tally.all_commits()));
  }
  return text + "\n";
}

/// The run and its settings.
std::string options_text(const Options& options, const Workload& workload,
                         const RunResult& result) {
  std::string text = fmt::format("{}: {}, --{}={}", options.engine, workload.traits.label,
                                 workload.traits.scale_flag, options.scale);
  for (const auto& [name, value] : options.of_workload) {
    text += fmt::format(" --{}={}", name, value);
  }
  text += fmt::format(", {} threads, isolation {}, {}", options.threads, name_of(options.isolation),
                      name_of(options.durability));
  if (options.durability == Durability::async) {
    text += fmt::format(" (a crash may lose {} ms and one write)",
                        result.asynchronous_interval.count());
  }
  if (options.rate) {
    text += fmt::format(", {:.0f} transactions/s requested", *options.rate);
  }
  return text + "\n";
}

std::string measured_text(const Options& options, const Workload& workload,
                          const RunResult& result) {
  const Measurement& measured = *result.measured;
  const Interval& total = measured.total;
  std::string text = options_text(options, workload, result);
  text += fmt::format("  {:.1f} s: {:.0f} tps", total.seconds, total.commits_per_second());
  if (workload.figure) {
    text += fmt::format(", {:.0f} {}", figure_of(*workload.figure, total), workload.figure->name);
  }
  text += '\n';
  if (const auto& share = measured.reader_share) {
    text += fmt::format(
        "  beside a reader {:.2f} of the throughput without one, median of {} turns ({:.2f} to "
        "{:.2f})\n",
        share->median, share->turns, share->least, share->most);
  }
  text += latency_table(workload, total.tally);
  text += aborts_text(total.tally);
  text += costs_text(options, measured);
  if (measured.commits_by_second.size() > 1) {
    text += chart("transactions a second", measured.commits_by_second, 1.0);
  }
  return text;
}

}  // namespace

json to_json(const Options& options, const Workload& workload, const RunResult& result,
             const HostInfo& host) {
  json object = workload_json(options, workload, result);
  if (result.measured) {
    object.update(measurement_json(workload, *result.measured));
  }
  object["load"] = result.load.loaded ? load_json(result.load) : json(nullptr);
  object["check"] = result.check ? json{{"violations", result.check->violations},
                                        {"seconds", result.check_seconds}}
                                 : json(nullptr);
  object["cpu"] = host.cpu;
  object["kernel"] = host.kernel;
  object["compiler"] = host.compiler;
  object["commit"] = host.commit;
  object["device"] = host.storage;
  return object;
}

std::string summary(const Options& options, const Workload& workload, const RunResult& result) {
  std::string text;
  if (result.load.loaded) {
    text += fmt::format("{}: loaded {} rows in {:.1f} s, settled in {:.1f} s\n", options.engine,
                        result.load.rows, result.load.seconds, result.load.settle_seconds);
  }
  if (result.measured) {
    text += measured_text(options, workload, result);
  }
  if (result.check) {
    text += fmt::format("  {} violations of the consistency conditions (checked in {:.1f} s)\n",
                        result.check->violations, result.check_seconds);
    for (const std::string& violation : result.check->first) {
      text += fmt::format("    {}\n", violation);
    }
  }
  return text;
}

}  // namespace palimpsest::experiments::oltp
