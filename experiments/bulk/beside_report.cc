#include "experiments/bulk/beside_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/bulk/rows.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments::bulk {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

double per_second(const Phase& phase, double count) {
  return phase.seconds > 0 ? count / phase.seconds : 0.0;
}

/// Unfinished scans count by their rows.
double reads_per_second(const BesideOptions& options, const Phase& phase) {
  const double rows_of_read = options.read == Read::scan ? static_cast<double>(options.rows) : 1.0;
  return per_second(phase, static_cast<double>(phase.reads.rows) / rows_of_read);
}

double rows_per_second(const Phase& phase, const Counts& counts) {
  return per_second(phase, static_cast<double>(counts.rows));
}

double mib(std::uint64_t bytes) {
  constexpr double kMib = 1024.0 * 1024.0;
  return static_cast<double>(bytes) / kMib;
}

json phase_json(const BesideOptions& options, const Phase& phase) {
  return {{"phase", phase.name},
          {"seconds", phase.seconds},
          {"reads_per_s", reads_per_second(options, phase)},
          {"read_latency_us", latency_json(phase.reads.latency_ns)},
          {"read_restarts", phase.reads.restarts},
          {"updates", phase.updates.latency_ns.count()},
          {"updated_rows_per_s", rows_per_second(phase, phase.updates)},
          {"update_restarts", phase.updates.restarts},
          {"other_writes_per_s", rows_per_second(phase, phase.other_writes)},
          {"other_write_latency_us", latency_json(phase.other_writes.latency_ns)},
          {"other_write_restarts", phase.other_writes.restarts}};
}

}  // namespace

std::string summary(const BesideOptions& options, const BesideResult& result) {
  std::string text = fmt::format("{} rows, {} threads: {}; update of all rows: {}{}\n",
                                 options.rows, options.readers, name_of(options.read),
                                 name_of(options.update), options.once ? ", once" : "");
  for (const Phase& phase : result.phases) {
    text += fmt::format(
        "{}, {:.2f} s: {:.1f} reads/s, p50 {:.1f} us, p99 {:.1f} us, {} restarts; "
        "{:.0f} rows/s updated, {} restarts; {:.0f} other writes/s, p99 {:.1f} us\n",
        phase.name, phase.seconds, reads_per_second(options, phase),
        microseconds(phase.reads.latency_ns.quantile(0.5)),
        microseconds(phase.reads.latency_ns.quantile(0.99)), phase.reads.restarts,
        rows_per_second(phase, phase.updates), phase.updates.restarts,
        rows_per_second(phase, phase.other_writes),
        microseconds(phase.other_writes.latency_ns.quantile(0.99)));
  }
  return text + fmt::format("at most {:.1f} MiB of versions, {:.0f} MiB resident\n",
                            mib(result.memory_max.version_bytes),
                            mib(result.memory_max.resident_bytes));
}

json to_json(const BesideOptions& options, const BesideResult& result, const HostInfo& host) {
  json object = {{"benchmark", "bulk_bench"},
                 {"schema_version", kSchemaVersion},
                 {"engine", "palimpsest"},
                 {"read", std::string(name_of(options.read))},
                 {"update", std::string(name_of(options.update))},
                 {"once", options.once},
                 {"records", options.rows},
                 {"row_bytes", kRowBytes},
                 {"readers", options.readers},
                 {"other_writers", options.other_writers},
                 {"memory_bytes", options.memory_bytes},
                 {"version_bytes_bound", options.version_bytes_max},
                 {"warmup_seconds", options.warmup_seconds},
                 {"seed", options.seed},
                 {"load_seconds", result.load_seconds},
                 {"phases", json::array()},
                 {"version_bytes_max", result.memory_max.version_bytes},
                 {"resident_bytes_max", result.memory_max.resident_bytes},
                 {"log_bytes", result.log_bytes},
                 {"data_bytes", result.data_bytes}};
  for (const Phase& phase : result.phases) {
    object["phases"].push_back(phase_json(options, phase));
  }
  add_host(object, host);
  return object;
}

}  // namespace palimpsest::experiments::bulk
