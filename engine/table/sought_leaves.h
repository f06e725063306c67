// Leaves to be prefetched: of rows of any tables, and of entries of any indexes.
//
// They are found by keys, or by the first columns of keys, as a range's lower bound is. The caller
// gets no data, so nothing has to be confirmed: if a tree is not the table's any more by then,
// leaves of that tree are prefetched in vain.
// Failure: Error invalid_argument for what cannot begin a key. Thread-safety: one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "palimpsest/key.h"

#include "btree/btree.h"
#include "engine/table/encoded_keys.h"
#include "engine/table/table_state.h"

namespace palimpsest::engine {

class SoughtLeaves {
 public:
  void add_row(const TableDefinition& table, const Key& key);
  /// For the table's index of that number.
  void add_entry(const TableDefinition& table, std::size_t index, const Key& key);

  /// Brings all leaves into memory; does I/O, with overlapping reads.
  void prefetch() const;

 private:
  struct Leaf {
    const btree::BTree* tree;
    std::size_t key_end;  ///< in keys_; the key begins where that of the leaf before ends
  };

  void add(const KeySpace& space, const btree::BTree& tree, const Key& key);

  std::string keys_;
  std::vector<Leaf> leaves_;
};

}  // namespace palimpsest::engine
