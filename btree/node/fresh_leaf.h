// A new leaf on disk that no tree names yet.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::btree {

/// Its keys lie in [lower, upper).
struct FreshLeaf {
  PageId page = kNoPage;
  ByteView lower;
  ByteView upper;
};

}  // namespace palimpsest::btree
