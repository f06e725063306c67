// Folds the versions of leaves into their spans (versioning/spans.h), when memory for versions is
// looked after and when a leaf leaves memory.
//
// One step under the exclusive latch of the leaf: a version goes from its chain, the span says its
// date, and the record gets its mark. So a reader, which holds that latch at least shared when it
// looks at a chain, finds the version or the mark. A reader without a latch finds kHasEntry as
// before, and comes with one.
//
// Latching: the caller holds the leaves exclusively; chains' latches are taken within, those of
//           buffers tried. Failure: none; without memory everything stays.
// Thread-safety: all functions, from any thread.
#pragma once

#include <span>

#include "btree/node/leaf_node.h"
#include "versioning/mapping_table.h"
#include "versioning/page_folder.h"
#include "versioning/prune.h"

namespace palimpsest::btree {

/// Folds what can be folded in a leaf. Whether its marks have changed.
bool fold_leaf(LeafNode leaf, versioning::MappingTable& table, versioning::Pruner& pruner) noexcept;

class LeafFolder final : public versioning::PageFolder {
 public:
  /// Both outlive it.
  LeafFolder(const versioning::Snapshots& snapshots, versioning::EntryMemory& memory) noexcept
      : snapshots_(snapshots), memory_(memory) {}

  void fold(std::span<buffer::Hanging> hanging) noexcept override;
  [[nodiscard]] bool remember_marks(const buffer::Hanging& hanging) noexcept override;

 private:
  const versioning::Snapshots& snapshots_;
  versioning::EntryMemory& memory_;
};

}  // namespace palimpsest::btree
