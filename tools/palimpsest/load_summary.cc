#include "tools/palimpsest/load_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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
  const double seconds = std::max(result.seconds, 1e-3);
  return text + fmt::format("\n{:.1f} MB in {:.2f} s: {:.0f} records/s, {:.1f} MB/s\n",
                            static_cast<double>(result.bytes) / kBytesPerMegabyte, seconds,
                            static_cast<double>(result.records) / seconds,
                            static_cast<double>(result.bytes) / kBytesPerMegabyte / seconds);
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
      {"seconds", result.seconds}};
  return summary.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_table(const load::DumpedTable& table, bool was_there) {
  const Json summary = {{"status", was_there ? "was_there" : "done"},
                        {"table", table.name},
                        {"file", table.file},
                        {"rows", table.rows},
                        {"schema", table.schema}};
  return summary.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_failure(const std::string& status, const std::string& table,
                         const std::string& message, int exit_code) {
  const Json failure = {
      {"status", status}, {"table", table}, {"message", message}, {"exit_code", exit_code}};
  return failure.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace palimpsest::tools
