#include "tools/palimpsest/load_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/palimpsest/explicit_command.h"

namespace palimpsest::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBytesPerMegabyte = 1e6;

std::string_view status_of(const load::LoadResult& result) {
  if (result.too_many_faults) {
    return "too_many_errors";
  }
  return result.dry_run ? "dry_run" : "done";
}

std::string text_of_faults(const load::LoadResult& result) {
  std::string text;
  for (const load::FaultKind kind : load::kFaultKinds) {
    const std::uint64_t count = result.faults_by_kind[static_cast<std::size_t>(kind) - 1];
    if (count != 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(kind));
    }
  }
  return text;
}

/// The longest first; what is rounded to nothing is left out.
std::string text_of_stages(const load::StageTimes& times) {
  std::vector<load::Stage> stages(load::kStages.begin(), load::kStages.end());
  std::ranges::sort(stages, std::ranges::greater(),
                    [&](load::Stage stage) { return times[stage]; });
  std::string text;
  for (const load::Stage stage : stages) {
    const double percent = 100 * times.share(stage);
    if (percent >= 0.5) {
      text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", name_of(stage), percent);
    }
  }
  return text;
}

Json json_stages(const load::StageTimes& times) {
  Json stages = Json::object();
  for (const load::Stage stage : load::kStages) {
    stages[std::string(name_of(stage))] = std::round(times.share(stage) * 1000) / 1000;
  }
  return stages;
}

/// Of a load, or of those of a directory.
template <class Result>
std::string text_of_speed(const Result& result, std::uint64_t records) {
  const double seconds = std::max(result.seconds, 1e-3);
  const double megabytes = static_cast<double>(result.bytes) / kBytesPerMegabyte;
  return fmt::format("{:.1f} MB in {:.2f} s: {:.0f} records/s, {:.1f} MB/s; {}\n", megabytes,
                     seconds, static_cast<double>(records) / seconds, megabytes / seconds,
                     text_of_stages(result.stages));
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string text_summary(const load::LoadOptions& options, const load::LoadResult& result) {
  const char* const would = result.dry_run ? "dry run, nothing was written: " : "";
  std::string text = fmt::format("{}{} into table \"{}\"{}", would, counted(result.added, "row"),
                                 options.table, result.made_table ? " (new)" : "");
  if (result.too_many_faults) {
    text = fmt::format("nothing loaded into table \"{}\"", options.table);
  }
  if (result.replaced != 0) {
    text += fmt::format(", {} replaced", result.replaced);
  }
  if (result.skipped != 0) {
    text += fmt::format(", {} duplicates skipped", result.skipped);
  }
  if (result.resumed != 0) {
    text += fmt::format(", {} rows were sorted already", result.resumed);
  }
  if (result.skipped_lines != 0) {
    text += fmt::format(", {} comments and blank lines skipped", result.skipped_lines);
  }
  if (result.faults != 0) {
    text += fmt::format("; {} ({})", counted(result.faults, "bad record"), text_of_faults(result));
  }
  return text + "\n" + text_of_speed(result, result.records);
}

std::string json_summary(const load::LoadOptions& options, const load::LoadResult& result) {
  Json errors = {{"total", result.faults}};
  for (const load::FaultKind kind : load::kFaultKinds) {
    errors[std::string(name_of(kind))] = result.faults_by_kind[static_cast<std::size_t>(kind) - 1];
  }
  const Json summary = {
      {"status", status_of(result)},
      {"table", options.table},
      {"new_table", result.made_table},
      {"schema", result.schema},
      {"command", explicit_command(result.taken, result.made_table ? result.schema : "")},
      {"records", result.records},
      {"rows_resumed", result.resumed},
      {"rows_added", result.added},
      {"rows_replaced", result.replaced},
      {"duplicates_skipped", result.skipped},
      {"lines_skipped", result.skipped_lines},
      {"errors", errors},
      {"bytes", result.bytes},
      {"seconds", result.seconds},
      {"stages", json_stages(result.stages)}};
  return text_of(summary);
}

std::string text_table(const load::DumpedTable& table, bool was_there) {
  return fmt::format("{} into table \"{}\"{}\n", counted(table.rows, "row"), table.name,
                     was_there ? " were there" : " (new)");
}

std::string json_table(const load::DumpedTable& table, bool was_there) {
  const Json summary = {{"status", was_there ? "was_there" : "done"},
                        {"table", table.name},
                        {"file", table.file},
                        {"rows", table.rows},
                        {"schema", table.schema}};
  return text_of(summary);
}

std::string text_summary(const load::DirectoryLoadResult& result) {
  std::string text = counted(result.tables, "table");
  if (result.tables_there != 0) {
    text += fmt::format(", {} were there", result.tables_there);
  }
  return fmt::format("{}, {}\n{}", text, counted(result.rows, "row"),
                     text_of_speed(result, result.rows));
}

std::string json_summary(const load::DirectoryLoadResult& result) {
  const Json summary = {{"status", "done"},
                        {"tables", result.tables},
                        {"tables_there", result.tables_there},
                        {"rows_added", result.rows},
                        {"bytes", result.bytes},
                        {"seconds", result.seconds},
                        {"stages", json_stages(result.stages)}};
  return text_of(summary);
}

std::string json_failure(const std::string& status, const std::string& table,
                         const std::string& message, int exit_code) {
  const Json failure = {
      {"status", status}, {"table", table}, {"message", message}, {"exit_code", exit_code}};
  return text_of(failure);
}

}  // namespace palimpsest::tools
