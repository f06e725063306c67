// Text in another encoding, as UTF-8: by iconv, which knows some hundred of them.
//
// UTF-16 and UTF-32 are recognised by their byte order marks; everything else is told. A sequence
// that is none in its encoding ends the load: no byte is left out, and none is guessed.
// Failure: UsageError for an encoding that iconv does not know; Error corruption, which names the
//          byte, for text that is not in it. Thread-safety: as ByteSource.
#pragma once

#include <memory>
#include <string>

#include "tools/load/byte_source.h"

namespace palimpsest::load {

/// The encoding's name for a file whose bytes are taken as they are.
inline constexpr const char* kAnyBytes = "bytes";

/// `encoding` empty: UTF-8, or what a byte order mark says. The source as it is where there is
/// nothing to do.
[[nodiscard]] std::unique_ptr<ByteSource> decoded(std::unique_ptr<ByteSource> source,
                                                  const std::string& encoding,
                                                  const std::string& path);

/// Throws UsageError if there is no such encoding.
void require_encoding(const std::string& encoding);

}  // namespace palimpsest::load
