// Where the pages of an extent lie between the space map's own pages, which stand at the beginning
// of every stretch. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer/page_bitmap.h"

namespace palimpsest::buffer {

/// The runs that `pages` pages take from bit `first` on, all bits but the map pages being free: one
/// run, or as few as map pages allow, at most `max_runs`, ascending.
[[nodiscard]] std::vector<BitRange> extent_places(std::uint64_t first, std::uint32_t pages,
                                                  std::uint32_t max_runs,
                                                  std::uint64_t stretch_pages);

}  // namespace palimpsest::buffer
