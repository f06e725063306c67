// What a load came to, for people and for programs. Thread-safety: functions are pure.
#pragma once

#include <string>

#include "tools/load/load.h"

namespace palimpsest::tools {

/// Some lines.
[[nodiscard]] std::string text_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);
/// One object on one line.
[[nodiscard]] std::string json_summary(const load::LoadOptions& options,
                                       const load::LoadResult& result);

}  // namespace palimpsest::tools
