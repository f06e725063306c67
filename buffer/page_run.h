// Neighbouring pages of the page file, as the space map hands them out and the log names them.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace palimpsest::buffer {

/// Neighbouring pages.
struct PageRun {
  PageId first = kNoPage;
  std::uint32_t pages = 0;

  friend bool operator==(const PageRun&, const PageRun&) = default;
};

}  // namespace palimpsest::buffer
