// Brings many leaves into memory with overlapping reads; they may belong to any trees of one pool.
//
// Works level by level: for each leaf, the first non-resident page on the way to it is loaded, all
// of them in one batch; then the leaves that are not resident yet are looked for again.
// Latching: called with no latch; waits for none. Failure: a page that cannot be read, or for which
// there is no frame, is skipped; a later access loads it. Thread-safety: from any thread.
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

/// All leaves belong to one pool.
void prefetch_leaves(std::span<const Sought> leaves);

}  // namespace palimpsest::btree
