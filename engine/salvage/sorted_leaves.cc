#include "engine/salvage/sorted_leaves.h"

#include <algorithm>

#include "engine/salvage/tree_order.h"

namespace palimpsest::engine {

void SortedLeaves::add(const btree::LeafView& leaf) {
  const LeafRef ref = LeafRef::of(leaf);
  sort_.add(in_tree_order(leaf.tree_id(), ref.lower), ref.encode());
}

void SortedLeaves::finish(const PageDirectory& pages, bool with_doubtful) {
  pages_ = &pages;
  with_doubtful_ = with_doubtful;
  sort_.finish();
  is_there_ = sort_.next();
}

std::optional<TreeId> SortedLeaves::next_tree() {
  while (is_there_ && tree_in_order(sort_.key()) == tree_) {
    is_there_ = sort_.next();
  }
  if (!is_there_) {
    return std::nullopt;
  }
  tree_ = tree_in_order(sort_.key());
  return tree_;
}

std::optional<LeafRef> SortedLeaves::next() {
  while (is_there_ && tree_in_order(sort_.key()) == tree_) {
    LeafRef leaf = LeafRef::decode(key_in_order(sort_.key()), sort_.value());
    is_there_ = sort_.next();
    if (pages_->counts(leaf.page, with_doubtful_)) {
      leaf.gsn = std::max(leaf.gsn, pages_->named_at(leaf.page));
      return leaf;
    }
  }
  return std::nullopt;
}

}  // namespace palimpsest::engine
