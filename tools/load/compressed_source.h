// Files that gzip, zstd, xz or bzip2 have compressed, decompressed as they are read; several
// streams one after the other, as these programs read them.
//
// Failure: as ByteSource. Thread-safety: as ByteSource.
#pragma once

#include <memory>
#include <string_view>

#include "tools/load/byte_source.h"
#include "tools/load/input_file.h"

namespace palimpsest::load {

/// What is compressed, by the magic number that the file begins with; null, and the file is left as
/// it is, if it is nothing of these.
[[nodiscard]] std::unique_ptr<ByteSource> decompressed(std::unique_ptr<InputFile>& file);

}  // namespace palimpsest::load
