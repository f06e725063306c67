#include "btree/ghost_skip.h"

namespace palimpsest::btree {

KeyRange GhostSkip::begin(const KeyRange& range) noexcept {
  if (run_ == nullptr) {
    return range;
  }
  const bool is_forward = direction_ == Direction::forward;
  start_ = {.tree = tree_.id(),
            .direction = direction_,
            .bound = is_forward ? std::optional(range.lower) : range.upper};
  const auto beyond = run_->beyond(tree_.descent().pool(), start_, *read_view_);
  if (!beyond) [[likely]] {
    return range;
  }
  if (is_forward) {
    return !range.upper || *beyond < *range.upper ? KeyRange{*beyond, range.upper} : range;
  }
  return range.lower < *beyond ? KeyRange{range.lower, *beyond} : range;
}

void GhostSkip::pass(const LeafWalk& walk) noexcept {
  const LeafView leaf = walk.leaf();
  if (run_ != nullptr) {
    run_->take_in(tree_.descent().pool(), start_, walk.frame(), leaf, *read_view_);
  }
  if (GhostLeaves::is_dead(leaf)) [[unlikely]] {
    dead_.meet(walk.frame(), leaf, walk.has_left());
  }
}

void GhostSkip::end() noexcept {
  if (const auto dead = dead_.key()) [[unlikely]] {
    tree_.ghost_leaf_notes().note(*dead, dead_.met());
  }
}

}  // namespace palimpsest::btree
