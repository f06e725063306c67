// The command that says what a load has found out: given so, nothing is left to be found.
//
// Thread-safety: functions are pure.
#pragma once

#include <string>
#include <string_view>

#include "tools/load/load.h"

namespace palimpsest::tools {

/// For a POSIX shell. `schema` empty: the table is there.
[[nodiscard]] std::string explicit_command(const load::LoadOptions& options,
                                           std::string_view schema);

/// A word as a POSIX shell reads it, in quotes if it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace palimpsest::tools
