// Small files under /proc and /sys in which the kernel reports its state.
//
// Thread-safety: all functions. Failure: none but std::bad_alloc.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/function_ref.h"

namespace palimpsest::io {

/// Returns the content of a small file; nothing if it cannot be read.
using ReadFile = FunctionRef<std::optional<std::string>(const std::string& path)>;

/// Reads from the file system.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

}  // namespace palimpsest::io
