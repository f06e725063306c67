// How far pages of one tree have been given lower page ids (Structure::move_down()).
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace palimpsest::btree {

struct PageMoves {
  PageId from = kNoPage;       ///< pages from here on move
  PageId free_from = kNoPage;  ///< there is no free page before that for them

  // Where the walk goes on:
  std::uint32_t level = 0;  ///< of the pages that move now
  std::string next{};       ///< a key below the parent whose children are looked at next

  // What it has done:
  std::uint64_t moved = 0;
  std::uint64_t left =
      0;  ///< looked at and left for another walk: being written, or latched all the time
  bool is_full = false;  ///< there was no free page before `from`
};

}  // namespace palimpsest::btree
