// What a load came to, for people and for programs. Thread-safety: functions are pure.
#pragma once

#include <string>

#include "tools/load/directory_load.h"
#include "tools/load/dump_manifest.h"
#include "tools/load/load.h"

namespace palimpsest::tools {

/// Some lines.
[[nodiscard]] std::string text_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);
/// One object on one line.
[[nodiscard]] std::string json_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);

/// Of a table of a directory: a line, and one object.
[[nodiscard]] std::string text_table(const load::DumpedTable& table, bool was_there);
[[nodiscard]] std::string json_table(const load::DumpedTable& table, bool was_there);
/// Of all of them, as those of one load.
[[nodiscard]] std::string text_summary(const load::DirectoryLoadResult& result);
[[nodiscard]] std::string json_summary(const load::DirectoryLoadResult& result);
/// One object of a load that has failed.
[[nodiscard]] std::string json_failure(const std::string& status, const std::string& table,
                                       const std::string& message, int exit_code);

}  // namespace palimpsest::tools
