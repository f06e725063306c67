// The leaves of all trees of a damaged database, sorted by tree and lower fence within a bound of
// memory.
//
// Thread-safety: belongs to one thread. Failure: as ExternalSort.
#pragma once

#include <optional>

#include "base/ids.h"
#include "bulk/sort/external_sort.h"
#include "engine/salvage/leaf_sweep.h"
#include "engine/salvage/page_directory.h"

namespace palimpsest::engine {

class SortedLeaves final : public LeafSource {
 public:
  SortedLeaves(io::Device& device, const bulk::SortOptions& options) : sort_(device, options) {}

  void add(const btree::LeafView& leaf);
  /// There are no more. `with_doubtful`: those of which it cannot be told whether they are in use
  /// count, too. The directory outlives it.
  void finish(const PageDirectory& pages, bool with_doubtful);
  /// Goes on to the next tree that has leaves; nothing if there is none.
  [[nodiscard]] std::optional<TreeId> next_tree();

  /// Of the tree that next_tree() has come to.
  [[nodiscard]] std::optional<LeafRef> next() override;

 private:
  bulk::ExternalSort sort_;
  const PageDirectory* pages_ = nullptr;
  bool with_doubtful_ = false;
  bool is_there_ = false;  ///< a leaf that was not shown
  TreeId tree_ = kNoTree;
};

}  // namespace palimpsest::engine
