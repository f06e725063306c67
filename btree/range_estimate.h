// About how many records of a tree are in a range of keys, and how many bytes they have: from the
// inner nodes on the way to its two ends, and a few leaves.
//
// Where the ways to the two ends part, the children between them are counted, and a few of these,
// evenly spread, are looked into: what one of them has is taken for what all of them have. Beside
// the two ways the same is done with the children to the right of the lower one and to the left of
// the upper one. In the leaves at the two ends records are counted.
//
// Accuracy: exact for a range within one leaf; of larger ones as good as the samples are: where
// leaves are about equally full, as those of one table are, within a fifth. It counts the newest
// state of records, whether it has committed or not, and none of what is erased. Each way is
// followed for itself: what splits meanwhile makes the estimate worse, and is no error.
// Latching: one leaf at a time, shared; I/O for pages that are not in memory, at most
//           kSamples * (levels + 1) + 2 leaves.
// Failure: throws what the pool throws.
// Thread-safety: any thread.
#pragma once

#include <cstdint>

#include "btree/descent.h"
#include "btree/leaf_walk.h"

namespace palimpsest::btree {

struct RangeEstimate {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< of keys and values, large ones included
};

[[nodiscard]] RangeEstimate estimate_range(const Descent& descent, const KeyRange& range);

}  // namespace palimpsest::btree
