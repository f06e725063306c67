// A page as it is about to be written.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::buffer {

/// A page image that no reader could have reached yet.
struct PageImage {
  PageId id = kNoPage;
  MutableBytes bytes;  ///< page size, aligned to the page size; sealed in place
};

}  // namespace palimpsest::buffer
