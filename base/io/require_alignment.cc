#include "base/io/require_alignment.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

namespace palimpsest::io {

void require_alignment(const File& file, std::size_t block_bytes) {
  if (file.alignment_bytes() > block_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("\"{}\": its device takes blocks of {} bytes; at most {} are supported",
                            file.name(), file.alignment_bytes(), block_bytes));
  }
}

}  // namespace palimpsest::io
