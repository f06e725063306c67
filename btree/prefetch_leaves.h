// Bringing many leaves into memory, of any trees of a pool, their reads overlapping.
//
// A level at a time: for each leaf the first page on the way to it that is not resident is loaded,
// all of them in one batch; then those that are not there yet are looked for again.
// Latching: called with no latch; waits for none. Failure: a page that cannot be read, or for which
// there is no frame, is left to whoever needs it. Thread-safety: from any thread.
#pragma once

#include <span>

#include "base/bytes.h"
#include "btree/descent.h"

namespace palimpsest::btree {

/// The leaf that covers a key, or would cover it.
struct Sought {
  const Descent* tree;
  ByteView key;
};

/// All in one pool.
void prefetch_leaves(std::span<const Sought> leaves);

}  // namespace palimpsest::btree
