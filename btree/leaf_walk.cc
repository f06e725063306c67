#include "btree/leaf_walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "palimpsest/error.h"

#include "base/sync_point.h"

namespace palimpsest::btree {

using buffer::OptimisticPage;
using buffer::SharedPage;
using buffer::Swip;
using buffer::SwipRef;

namespace {

constexpr std::uint32_t kWindowMax = buffer::PageLoader::kLoadsMax;

void check_bound(ByteView bound) {
  if (bound.size() > KeyBuffer::capacity()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a bound of {} bytes: bounds of a scan have at most {}", bound.size(),
                            KeyBuffer::capacity()));
  }
}

}  // namespace

KeyRange prefix_range(ByteView prefix, KeyBuffer& storage) noexcept {
  // The upper bound: the prefix up to its last byte below 0xff, with that byte incremented.
  const std::size_t kept = prefix.find_last_not_of('\xff');
  if (kept == ByteView::npos) {
    return {prefix, std::nullopt};
  }
  const char raised = static_cast<char>(static_cast<unsigned char>(prefix[kept]) + 1);
  storage.assign_clamped(prefix.substr(0, kept), ByteView(&raised, 1));
  return {prefix, storage.view()};
}

SharedPage LeafFinder::leaf(const Target& target) {
  buffer::BufferPool& pool = descent_->pool();
  bool read_ahead = false;  // only once: if a page cannot be read, follow_shared() reports it
  for (;;) {
    auto edge = edge_to(target);
    if (!edge) {
      if (descent_->root_level() == 0) {
        auto root = descent_->try_node<SharedPage>(target, 0);
        if (root) {
          parent_ = kNoFrame;
          return *std::move(root);
        }
      }
      continue;
    }
    if (!edge->child.swip.swizzled() && !read_ahead && load_neighbours(*edge)) {
      read_ahead = true;
      edge->parent.release();
      pool.finish_loads(loads_);
      continue;
    }
    auto leaf = pool.follow_shared(edge->parent, edge->child);
    if (leaf) {
      remember(*edge);
      return *std::move(leaf);
    }
  }
}

Attempt<LeafFinder::Edge> LeafFinder::edge_to(const Target& target) {
  auto beside = edge_beside();
  if (beside) {
    return beside;
  }
  auto parent = descent_->try_node<OptimisticPage>(target, 1);
  if (!parent) {
    return restart;
  }
  const auto step = descent_->route(*parent, target);
  if (!step) {
    return restart;
  }
  return Edge{*std::move(parent), step->child, step->index};
}

// The next child of the last leaf's parent; restart if that parent has changed since, is being
// changed, or has no child beyond.
Attempt<LeafFinder::Edge> LeafFinder::edge_beside() const noexcept {
  if (parent_ == kNoFrame) {
    return restart;
  }
  auto parent = descent_->pool().remembered(parent_, parent_version_);
  if (!parent) {
    return restart;
  }
  const SlotIndex index = beside(index_);
  const auto child = child_at(*parent, index);
  if (!child) {
    return restart;
  }
  parent->frame().touch();
  return Edge{*std::move(parent), *child, index};
}

// Restart also if the parent has no child `index`.
Attempt<SwipRef> LeafFinder::child_at(const OptimisticPage& parent,
                                      SlotIndex index) const noexcept {
  const auto child = parent.read([&](const std::byte* page) {
    const InnerView node(page, descent_->page_size());
    return index < node.child_count()
               ? std::optional(SwipRef{Swip::of_word(node.swip_at(index)), node.swip_offset(index)})
               : std::nullopt;
  });
  return child && *child ? Attempt<SwipRef>(**child) : restart;
}

// The edge was just validated with the leaf's latch held.
void LeafFinder::remember(const Edge& edge) noexcept {
  parent_ = descent_->pool().index_of(edge.parent.frame());
  parent_version_ = edge.parent.version();
  index_ = edge.index;
}

// Called with the leaf latched. Under ThreadSanitizer this latches the parent, against the latch
// order, but only by trying.
void LeafFinder::prefetch_beside() const noexcept {
  const auto edge = edge_beside();
  if (edge) {
    descent_->pool().prefetch(edge->child.swip);
  }
}

// Starts to load the missing child and its next neighbours; false if no load was started.
bool LeafFinder::load_neighbours(const Edge& edge) {
  buffer::BufferPool& pool = descent_->pool();
  const std::uint32_t window = std::clamp(pool.frame_count() / 16, 1U, window_);
  missing_.assign(window, SwipRef{});
  const auto count = edge.parent.read([&](const std::byte* page) {
    const InnerView node(page, descent_->page_size());
    const SlotIndex children = node.child_count();
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < window; ++i) {
      const SlotIndex child = direction_ == Direction::forward ? edge.index + i : edge.index - i;
      if (child >= children) {  // also below zero
        break;
      }
      const SwipRef swip{Swip::of_word(node.swip_at(child)), node.swip_offset(child)};
      if (!swip.swip.swizzled()) {
        missing_[found++] = swip;
      }
    }
    return found;
  });
  for (std::uint32_t i = 0; count && i < *count; ++i) {
    const bool begun = pool.begin_load(edge.parent, missing_[i], loads_);
    if (i == 0 && !begun) {
      return false;  // being loaded, or loaded already: follow_shared() takes it
    }
  }
  if (loads_.empty()) {
    return false;
  }
  window_ = std::min(window_ * 2, kWindowMax);
  return true;
}

LeafWalk::LeafWalk(const Descent& descent, const KeyRange& range, Direction direction)
    : descent_(&descent),
      direction_(direction),
      finder_(descent, direction),
      upper_is_infinite_(!range.upper.has_value()) {
  check_bound(range.lower);
  check_bound(range.upper.value_or(ByteView()));
  lower_.assign_clamped(range.lower, ByteView());
  upper_.assign_clamped(range.upper.value_or(ByteView()), ByteView());
  ended_ = !upper_is_infinite_ && upper_.view() <= lower_.view();
}

bool LeafWalk::next() {
  leaf_.release();
  if (ended_) {
    return false;
  }
  PALIMPSEST_SYNC_POINT("btree.walk.leaf");
  if (direction_ == Direction::forward) {
    leaf_ = finder_.leaf({lower_.view(), Target::Side::at});
    enter_forward(leaf());
  } else {
    const auto side = upper_is_infinite_ ? Target::Side::last : Target::Side::before;
    leaf_ = finder_.leaf({upper_.view(), side});
    enter_backward(leaf());
  }
  if (begun_ && !ended_) {  // often the caller needs only the first leaf
    finder_.prefetch_beside();
  }
  begun_ = true;
  return true;
}

// The rest of the range is what lies beyond this leaf.
void LeafWalk::enter_forward(const LeafView& leaf) {
  PALIMPSEST_DEBUG_CHECK(leaf.covers(lower_.view()), "the walk goes on where it stopped");
  const bool ends_here =
      leaf.upper_is_infinite() || (!upper_is_infinite_ && upper_.view() <= leaf.upper_fence());
  first_ = lower_.view() == leaf.lower_fence() ? 0 : leaf.lower_bound(lower_.view());
  last_ = ends_here && !upper_is_infinite_ ? leaf.lower_bound(upper_.view()) : leaf.count();
  ended_ = ends_here;
  if (!ends_here) {
    lower_.assign(leaf.upper_fence());
  }
}

void LeafWalk::enter_backward(const LeafView& leaf) {
  PALIMPSEST_DEBUG_CHECK(
      leaf.upper_is_infinite() || (!upper_is_infinite_ && leaf.lower_fence() < upper_.view() &&
                                   upper_.view() <= leaf.upper_fence()),
      "the walk goes on where it stopped");
  const bool ends_here = leaf.lower_fence() <= lower_.view();
  first_ = ends_here ? leaf.lower_bound(lower_.view()) : 0;
  const bool ends_with_leaf =
      upper_is_infinite_ || (!leaf.upper_is_infinite() && upper_.view() == leaf.upper_fence());
  last_ = ends_with_leaf ? leaf.count() : leaf.lower_bound(upper_.view());
  ended_ = ends_here;
  if (!ends_here) {
    upper_.assign(leaf.lower_fence());
    upper_is_infinite_ = false;
  }
}

}  // namespace palimpsest::btree
