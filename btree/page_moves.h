// Progress of moving the pages of one tree to lower page ids (Structure::move_down()).
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace palimpsest::btree {

struct PageMoves {
  PageId from = kNoPage;       ///< pages with this id or a higher one move
  PageId free_from = kNoPage;  ///< no page below this one is free for them

  // Where the walk continues:
  std::uint32_t level = 0;  ///< of the pages that move now
  std::string next{};       ///< a key below the parent to visit next

  // What it did:
  std::uint64_t moved = 0;
  std::uint64_t left = 0;  ///< skipped: being written, or latched at every attempt
  bool is_full = false;    ///< no page below `from` was free
};

}  // namespace palimpsest::btree
