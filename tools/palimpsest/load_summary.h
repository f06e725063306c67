// What a load came to, for people and for programs. Thread-safety: functions are pure.
#pragma once

#include <string>

#include "tools/load/dump_manifest.h"
#include "tools/load/load.h"

namespace palimpsest::tools {

/// Some lines.
[[nodiscard]] std::string text_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);
/// One object on one line.
[[nodiscard]] std::string json_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);

/// The same of a table of a directory.
[[nodiscard]] std::string json_table(const load::DumpedTable& table, bool was_there);
/// The same of a load that has failed.
[[nodiscard]] std::string json_failure(const std::string& status, const std::string& table,
                                       const std::string& message, int exit_code);

}  // namespace palimpsest::tools
