// Folds the versions of leaves into their spans (versioning/spans.h), when version memory is
// trimmed and when a leaf is evicted.
//
// Folding is one step under the leaf's exclusive latch: the version leaves its chain, the span
// records its date, and the record gets its mark. So a reader, which latches the leaf at least
// shared to look at a chain, finds either the version or the mark. A reader without a latch finds
// kHasEntry as before, and then takes the latch.
//
// Latching: the caller holds the leaves exclusively; chains' latches are taken inside, those of
//           version buffers only tried. Failure: none; without memory nothing is folded.
// Thread-safety: all functions, from any thread.
#pragma once

#include <span>

#include "btree/node/leaf_node.h"
#include "versioning/mapping_table.h"
#include "versioning/page_folder.h"
#include "versioning/prune.h"

namespace palimpsest::btree {

/// Folds what can be folded in a leaf. Returns whether its marks changed.
bool fold_leaf(LeafNode leaf, versioning::MappingTable& table, versioning::Pruner& pruner) noexcept;

class LeafFolder final : public versioning::PageFolder {
 public:
  /// Both outlive it.
  LeafFolder(const versioning::Snapshots& snapshots, versioning::EntryMemory& memory) noexcept
      : snapshots_(snapshots), memory_(memory) {}

  void fold(std::span<buffer::Hanging> hanging) noexcept override;
  [[nodiscard]] bool remember_marks(const buffer::Hanging& hanging) noexcept override;
  void with_pruner(FunctionRef<void(versioning::Pruner&)> work) noexcept override;

 private:
  const versioning::Snapshots& snapshots_;
  versioning::EntryMemory& memory_;
};

}  // namespace palimpsest::btree
