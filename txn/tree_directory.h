// How undoing finds the tree that a log record is about; implemented by whoever keeps the trees.
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

  /// Of all trees.
  [[nodiscard]] virtual std::uint32_t page_size() const noexcept = 0;
  /// The tree of an undoable record; that of a record about the making of a tree is found by its
  /// root page. No latch is held; may do I/O. Throws corruption if there is no such tree.
  [[nodiscard]] virtual btree::BTree& tree_of(const btree::TreeRecord& change) = 0;
  /// The making of this tree has been undone: nobody uses it again.
  virtual void creation_undone(TreeId tree) = 0;

 protected:
  TreeDirectory() = default;
};

}  // namespace palimpsest::txn
