// Leaves that somebody will need soon: of rows of any tables, and of entries of any indexes.
//
// They are found by keys, or by the first columns of keys, as a range's lower bound is. Nothing is
// read for the caller, so that nothing has to be confirmed: a tree that is not the table's any more
// by then has leaves, too.
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
  /// Of the table's index of that number.
  void add_entry(const TableDefinition& table, std::size_t index, const Key& key);

  /// Brings all of them into memory; does I/O, their reads overlapping.
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
