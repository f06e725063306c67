#include "experiments/tpch/load_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/common/result_json.h"

namespace palimpsest::experiments::tpch {
namespace {

constexpr int kSchemaVersion = 1;

bool single_transaction(const LoadOptions& options) {
  return options.single_transaction || options.mode == LoadMode::bulk;
}

double rows_per_second(const LoadResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.rows) / result.seconds : 0.0;
}

double mib(std::uint64_t bytes) {
  constexpr double kMib = 1024.0 * 1024.0;
  return static_cast<double>(bytes) / kMib;
}

}  // namespace

std::string summary(const LoadOptions& options, const LoadResult& result) {
  std::string text = fmt::format(
      "TPC-H's tables at scale factor {}, mode {}, {}, {} threads\n"
      "{} rows in {:.2f} s, {:.0f} rows/s; {:.2f} s of all threads in the engine; "
      "closed in {:.2f} s\n"
      "at most {:.1f} MiB of versions, {:.1f} MiB of entries, {:.0f} MiB resident\n"
      "{:.0f} MiB of data, {:.0f} MiB of log\n",
      options.scale.factor(), name_of(options.mode),
      single_transaction(options) ? "a transaction a table" : "many transactions a table",
      options.threads, result.rows, result.seconds, rows_per_second(result), result.insert_seconds,
      result.close_seconds, mib(result.version_bytes_max), mib(result.entry_bytes_max),
      mib(result.resident_bytes_max), mib(result.data_bytes), mib(result.log_bytes));
  if (!result.error.empty()) {
    text += fmt::format("the load failed: {}\n", result.error);
  }
  return text;
}

nlohmann::json to_json(const LoadOptions& options, const LoadResult& result, const HostInfo& host) {
  nlohmann::json object = {{"benchmark", "tpch_load"},
                           {"schema_version", kSchemaVersion},
                           {"engine", "palimpsest"},
                           {"scale_factor", options.scale.factor()},
                           {"mode", std::string(name_of(options.mode))},
                           {"single_transaction", single_transaction(options)},
                           {"threads", options.threads},
                           {"memory_bytes", options.memory_bytes},
                           {"version_bytes_bound", options.version_bytes_max},
                           {"log_bytes_bound", options.log_bytes_max},
                           {"seed", options.seed},
                           {"rows", result.rows},
                           {"seconds", result.seconds},
                           {"rows_per_s", rows_per_second(result)},
                           {"insert_seconds", result.insert_seconds},
                           {"close_seconds", result.close_seconds},
                           {"version_bytes_max", result.version_bytes_max},
                           {"entry_bytes_max", result.entry_bytes_max},
                           {"resident_bytes_max", result.resident_bytes_max},
                           {"log_bytes", result.log_bytes},
                           {"data_bytes", result.data_bytes},
                           {"error", nullptr}};
  if (!result.error.empty()) {
    object["error"] = result.error;
  }
  add_host(object, host);
  return object;
}

}  // namespace palimpsest::experiments::tpch
