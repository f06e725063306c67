// How large a page file can be.
#pragma once

#include <cstdint>

namespace palimpsest::buffer {

/// Page ids beyond it are those of no file: whoever meets one has met damage.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 46U;

}  // namespace palimpsest::buffer
