// Small files in which the kernel tells what it knows, under /proc and /sys.
//
// Thread-safety: all functions. Failure: none but std::bad_alloc.
#pragma once

#include <optional>
#include <string>

#include "palimpsest/function_ref.h"

namespace palimpsest::io {

/// The content of a small file; nothing if it cannot be read.
using ReadFile = FunctionRef<std::optional<std::string>(const std::string& path)>;

/// That, of a file there is.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

}  // namespace palimpsest::io
