// The one file of a zip archive.
//
// Folders, and what macOS puts beside files, do not count. An archive of several files, or of an
// office program, is refused: which of them is meant nothing says.
// Failure: UsageError for such an archive, and for standard input and pipes, whose end, where the
//          list of files is, comes too late; Error corruption if it is damaged.
// Thread-safety: as ByteSource.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/load/byte_source.h"

namespace palimpsest::load {

/// By the first bytes of a file.
[[nodiscard]] bool is_zip(std::string_view magic) noexcept;

/// `taken` counts bytes of the archive, about.
[[nodiscard]] std::unique_ptr<ByteSource> open_zip(const std::string& path,
                                                   std::atomic<std::uint64_t>& taken);

}  // namespace palimpsest::load
