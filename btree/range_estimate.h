// Estimates how many records of a tree are in a range of keys, and their bytes, from the inner
// nodes on the paths to its two ends, and a few leaves.
//
// Where the two paths part, the children between them are counted, and a few of these, evenly
// spread, are sampled; all are taken to be like the samples. The same is done on each level below,
// with the children to the right of the lower path and to the left of the upper one. In the leaves
// at the two ends, records are counted.
//
// Accuracy: exact for a range within one leaf. For larger ranges it is as good as the samples:
//           within a fifth where leaves are about equally full, as those of one table are. It
//           counts the newest state of records, committed or not, and no ghosts. Each path is
//           followed separately: a concurrent split makes the estimate worse, and is no error.
// Latching: one leaf at a time, shared; I/O for pages that are not in memory, at most kSamples *
//           (levels + 1) + 2 leaves.
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
