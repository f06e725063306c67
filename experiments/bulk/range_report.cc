#include "experiments/bulk/range_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/bulk/rows.h"
#include "experiments/common/result_json.h"

namespace palimpsest::experiments::bulk {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr double kMb = 1e6;

double rows_per_second(const RangeOptions& options, const RangeResult& result) {
  return result.seconds > 0 ? static_cast<double>(options.rows_changed()) / result.seconds : 0.0;
}

double mb(std::uint64_t bytes) {
  return static_cast<double>(bytes) / kMb;
}

json or_null(const std::optional<std::uint64_t>& value) {
  return value ? json(*value) : json();
}

}  // namespace

std::string summary(const RangeOptions& options, const RangeResult& result) {
  std::string text = fmt::format(
      "{}: {} of {} rows, {}\n"
      "durable after {:.2f} s, {:.0f} rows/s, {:.0f} MB/s; closed in {:.2f} s\n"
      "{:.0f} MB resident, {:.0f} MB of data, {:.0f} MB on disk\n",
      options.engine, name_of(options.operation), options.rows_changed(), result.description,
      result.seconds, rows_per_second(options, result),
      rows_per_second(options, result) * static_cast<double>(kRowBytes) / kMb, result.close_seconds,
      mb(result.memory_max.resident_bytes), mb(result.space_reclaimed.data_bytes),
      mb(result.disk_bytes));
  if (options.operation == Operation::erase) {
    text += fmt::format("data before {:.0f} MB, after {:.0f} MB; space back in {:.2f} s\n",
                        mb(result.space_before.data_bytes), mb(result.space_after.data_bytes),
                        result.reclaim_seconds);
  }
  return text;
}

json to_json(const RangeOptions& options, const RangeResult& result, const HostInfo& host) {
  json object = {{"benchmark", "range_bench"},
                 {"schema_version", kSchemaVersion},
                 {"engine", options.engine},
                 {"operation", std::string(name_of(options.operation))},
                 {"description", result.description},
                 {"records", options.rows},
                 {"row_bytes", kRowBytes},
                 {"threads", 1},
                 {"memory_bytes", options.memory_bytes},
                 {"rows", options.rows_changed()},
                 {"seconds", result.seconds},
                 {"rows_per_s", rows_per_second(options, result)},
                 {"mb_per_s", rows_per_second(options, result) * kRowBytes / kMb},
                 {"close_seconds", result.close_seconds},
                 {"resident_bytes_before_open", result.resident_bytes_before_open},
                 {"resident_bytes_max", result.memory_max.resident_bytes},
                 {"resident_file_bytes_max", result.memory_max.resident_file_bytes},
                 {"version_bytes_max",
                  result.counts_versions ? json(result.memory_max.version_bytes) : json()},
                 {"write_bytes", result.write_bytes},
                 {"data_bytes_before", result.space_before.data_bytes},
                 {"data_bytes", result.space_after.data_bytes},
                 {"reusable_bytes", or_null(result.space_after.reusable_bytes)},
                 {"disk_bytes", result.disk_bytes}};
  if (options.operation == Operation::erase) {
    object["reclaim_seconds"] = result.reclaim_seconds;
    object["data_bytes_reclaimed"] = result.space_reclaimed.data_bytes;
    object["reusable_bytes_reclaimed"] = or_null(result.space_reclaimed.reusable_bytes);
  }
  add_host(object, host);
  return object;
}

}  // namespace palimpsest::experiments::bulk
