#include "experiments/endurance/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/common/result_json.h"

namespace palimpsest::experiments::endurance {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr double kMb = 1e6;

double mb(std::uint64_t bytes) {
  return static_cast<double>(bytes) / kMb;
}

}  // namespace

std::string summary(const Options& options, const Result& result) {
  std::string text = fmt::format("{}: {}, {} records, {} operations; {}\n", options.engine,
                                 name_of(options.workload), options.records, options.operations,
                                 result.description);
  for (const Part& part : result.parts) {
    text += fmt::format("{:10.0f} operations/s {:8.1f} MB resident {:8.1f} MB on disk\n",
                        part.operations_per_second(), mb(part.resident_bytes), mb(part.disk_bytes));
  }
  text += result.failure.empty()
              ? fmt::format("{:.1f} MB on disk when closed\n", mb(result.disk_bytes_closed))
              : fmt::format("ended early: {}\n", result.failure);
  return text;
}

json to_json(const Options& options, const Result& result, const HostInfo& host) {
  json parts = json::array();
  for (const Part& part : result.parts) {
    parts.push_back({{"operations", part.operations},
                     {"seconds", part.seconds},
                     {"operations_per_s", part.operations_per_second()},
                     {"resident_bytes", part.resident_bytes},
                     {"disk_bytes", part.disk_bytes}});
  }
  json object = {{"benchmark", "endurance"},
                 {"schema_version", kSchemaVersion},
                 {"engine", options.engine},
                 {"description", result.description},
                 {"workload", std::string(name_of(options.workload))},
                 {"records", options.records},
                 {"value_bytes", kValueBytes},
                 {"operations", options.operations},
                 {"memory_bytes", options.memory_bytes},
                 {"parts", std::move(parts)},
                 {"failure", result.failure.empty() ? json() : json(result.failure)},
                 {"disk_bytes_closed", result.disk_bytes_closed}};
  add_host(object, host);
  return object;
}

}  // namespace palimpsest::experiments::endurance
