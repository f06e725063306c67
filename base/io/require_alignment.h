// Refuses files of devices whose blocks are larger than those that a format is written in.
#pragma once

#include <cstddef>

#include "base/io/device.h"

namespace palimpsest::io {

/// Throws invalid_argument, naming the file, if transfers of it must be aligned to more than
/// `block_bytes`.
void require_alignment(const File& file, std::size_t block_bytes);

}  // namespace palimpsest::io
