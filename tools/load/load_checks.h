// What a load refuses before it has opened anything.
//
// Failure: UsageError; Error for a file that is not there. Thread-safety: functions are pure.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/load/load.h"

namespace palimpsest::load {

/// Whether the options mean a load: its memory is enough, its files are there, and the files of
/// rejected records are none of them, nor the database's.
void check_options(const LoadOptions& options);

/// Of all files together; nothing if one is a pipe.
[[nodiscard]] std::optional<std::uint64_t> input_bytes_of(const LoadOptions& options);

}  // namespace palimpsest::load
