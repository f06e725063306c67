#include "btree/dead_skip.h"

namespace palimpsest::btree {

KeyRange DeadSkip::begin(const KeyRange& range) noexcept {
  if (run_ == nullptr) {
    return range;
  }
  const bool is_forward = direction_ == Direction::forward;
  start_ = {.tree = tree_.id(),
            .direction = direction_,
            .bound = is_forward ? std::optional(range.lower) : range.upper};
  const auto beyond = run_->beyond(tree_.descent().pool(), start_, *viewer_);
  if (!beyond) [[likely]] {
    return range;
  }
  if (is_forward) {
    return !range.upper || *beyond < *range.upper ? KeyRange{*beyond, range.upper} : range;
  }
  return range.lower < *beyond ? KeyRange{range.lower, *beyond} : range;
}

void DeadSkip::pass(const LeafWalk& walk) noexcept {
  const LeafView leaf = walk.leaf();
  if (run_ != nullptr) {
    run_->take_in(tree_.descent().pool(), start_, walk.frame(), leaf, *viewer_);
  }
  if (DeadLeaves::is_dead(leaf)) [[unlikely]] {
    dead_.meet(walk.frame(), leaf, walk.has_left());
  }
}

void DeadSkip::end() noexcept {
  if (const auto dead = dead_.key()) [[unlikely]] {
    tree_.dead_notes().note(*dead, dead_.met());
  }
}

}  // namespace palimpsest::btree
