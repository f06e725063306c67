// Refuses files on devices with larger blocks than the file's format allows.
#pragma once

#include <cstddef>

#include "base/io/device.h"

namespace palimpsest::io {

/// Throws invalid_argument, naming the file, if its transfers must be aligned to more than
/// `block_bytes`.
void require_alignment(const File& file, std::size_t block_bytes);

}  // namespace palimpsest::io
