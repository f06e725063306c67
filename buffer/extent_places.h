// Where the pages of an extent lie among those of the space map, which stand at the beginning of
// every stretch and belong to nobody: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer/page_bitmap.h"

namespace palimpsest::buffer {

/// Where so many pages can lie from bit `first` on: one run, or as few as map pages allow, at most
/// `max_runs`, ascending. Nothing else is taken from there on.
[[nodiscard]] std::vector<BitRange> extent_places(std::uint64_t first, std::uint32_t pages,
                                                  std::uint32_t max_runs,
                                                  std::uint64_t stretch_pages);

}  // namespace palimpsest::buffer
