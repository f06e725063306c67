// How large a page file can be.
#pragma once

#include <cstdint>

namespace palimpsest::buffer {

/// A page id beyond this limit is one of no file: it is a sign of damage.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 46U;

}  // namespace palimpsest::buffer
