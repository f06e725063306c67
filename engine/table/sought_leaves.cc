#include "engine/table/sought_leaves.h"

#include "btree/prefetch_leaves.h"

namespace palimpsest::engine {

void SoughtLeaves::add_row(const TableDefinition& table, const Key& key) {
  add({*table.format, *table.rows}, *table.rows, key);
}

void SoughtLeaves::add_entry(const TableDefinition& table, std::size_t index, const Key& key) {
  const btree::BTree& entries = *table.indexes[index];
  add({*table.format, index, entries}, entries, key);
}

void SoughtLeaves::add(const KeySpace& space, const btree::BTree& tree, const Key& key) {
  KeyMemory memory;
  keys_.append(space.first_columns(key, memory));
  leaves_.push_back({.tree = &tree, .key_end = keys_.size()});
}

void SoughtLeaves::prefetch() const {
  std::vector<btree::Sought> leaves;
  leaves.reserve(leaves_.size());
  for (std::size_t begin = 0; const Leaf& leaf : leaves_) {
    leaves.push_back({.tree = &leaf.tree->descent(),
                      .key = ByteView(keys_).substr(begin, leaf.key_end - begin)});
    begin = leaf.key_end;
  }
  btree::prefetch_leaves(leaves);
}

}  // namespace palimpsest::engine
