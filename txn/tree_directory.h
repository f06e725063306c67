// How undo finds the tree that a log record is about; implemented by the tree catalog.
#pragma once

#include <cstdint>

#include "btree/btree.h"
#include "btree/log/tree_record.h"

namespace palimpsest::txn {

class TreeDirectory {
 public:
  virtual ~TreeDirectory() = default;
  TreeDirectory(const TreeDirectory&) = delete;
  TreeDirectory& operator=(const TreeDirectory&) = delete;

  /// The page size of all trees.
  [[nodiscard]] virtual std::uint32_t page_size() const noexcept = 0;
  /// The tree of an undoable record; for a record about the making of a tree, found by its root
  /// page. Called with no latch held; may do I/O. Throws corruption if there is no such tree.
  [[nodiscard]] virtual btree::BTree& tree_of(const btree::TreeRecord& change) = 0;
  /// The making of this tree has been undone: it is not used again.
  virtual void creation_undone(TreeId tree) = 0;

 protected:
  TreeDirectory() = default;
};

}  // namespace palimpsest::txn
