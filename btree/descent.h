// Finding the node of a level that covers a key: the walk from the root down.
//
// The inner nodes on the way are read optimistically and the edge to each child is validated after
// the child's version was taken, so the walk writes nothing shared; only the node asked for is
// latched, in the mode the caller names by the guard type. The level of a child is known from its
// parent (checked when the page was attached), so a page is not looked at before it is latched.
// Latching: no latch held by the caller; at most the parent's optimistic guard while the child is
//           latched; none during I/O.
// Failure: throws what the pool throws when a page has to be brought in.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "base/attempt.h"
#include "btree/inner_node.h"
#include "buffer/buffer_pool.h"
#include "versioning/bulk_epochs.h"

namespace palimpsest::btree {

/// Which way to take at an inner node.
struct Target {
  enum class Side : std::uint8_t {
    at = 1,  ///< the node whose range contains `key`
    before,  ///< the node that contains the largest keys below `key`
    last,    ///< the rightmost node
  };

  ByteView key;
  Side side = Side::at;

  [[nodiscard]] SlotIndex child_of(const InnerView& node) const noexcept {
    switch (side) {
      case Side::before: return node.route_before(key);
      case Side::last: return node.count();
      case Side::at: break;
    }
    return node.route(key);
  }
};

class Descent {
 public:
  /// `epochs`: of its leaves; null: all bulks are settled. All outlive it.
  Descent(buffer::BufferPool& pool, FrameIndex root,
          versioning::BulkEpochs* epochs = nullptr) noexcept
      : pool_(&pool), epochs_(epochs), root_(root) {}

  /// A step from an inner node: where it leads, and the level it was taken at.
  struct Step {
    buffer::SwipRef child;
    SlotIndex index = 0;
    std::uint32_t level = 0;
  };

  /// Reads the way to take at `node`.
  [[nodiscard]] Attempt<Step> route(const buffer::OptimisticPage& node,
                                    const Target& target) const noexcept {
    return node.read([&](const std::byte* page) { return route_in(page, target); });
  }

  /// The node of `level` on the way to `target`; restart also if the root is not that high.
  template <class Guard>
  [[nodiscard]] Attempt<Guard> try_node(const Target& target, std::uint32_t level) const {
    buffer::OptimisticPage node = pool_->optimistic(root_);
    auto step = route(node, target);
    if (!step || step->level < level) {
      return restart;
    }
    if (step->level == level) {
      return convert<Guard>(std::move(node));
    }
    while (step->level > level + 1) {
      auto child = pool_->follow(node, step->child);
      if (!child) {
        return restart;
      }
      node = *std::move(child);
      step = route(node, target);
      if (!step) {
        return restart;
      }
    }
    return follow<Guard>(node, step->child);
  }

  /// As try_node for a level the tree has, repeated until it succeeds.
  template <class Guard>
  [[nodiscard]] Guard node(const Target& target, std::uint32_t level) const {
    for (;;) {
      auto found = try_node<Guard>(target, level);
      if (found) {
        return *std::move(found);
      }
    }
  }

  template <class Guard>
  [[nodiscard]] Guard leaf(const Target& target) const {
    return node<Guard>(target, 0);
  }

  /// Starts to load the first page on the way to the leaf that is not resident, if any. Whether
  /// that is all that can be done: false if the leaf itself is not known yet, or the way was lost.
  /// Waits for nothing; see BufferPool::begin_load() for what the caller owes.
  bool begin_load(const Target& target, std::vector<buffer::BufferPool::Load>& loads) const;

  /// The root's level, that is, the height of the tree above its leaves.
  [[nodiscard]] std::uint32_t root_level() const {
    for (;;) {
      const auto level = pool_->optimistic(root_).read(
          [&](const std::byte* page) { return InnerView(page, pool_->page_size_bytes()).level(); });
      if (level) {
        return *level;
      }
    }
  }

  [[nodiscard]] buffer::BufferPool& pool() const noexcept { return *pool_; }
  /// Null: all bulks are settled.
  [[nodiscard]] versioning::BulkEpochs* epochs() const noexcept { return epochs_; }
  /// Whether the bulk of a leaf's epoch has committed, too late for this viewer.
  [[nodiscard]] bool has_committed_since(BulkEpoch epoch,
                                         const versioning::Viewer& viewer) const noexcept {
    return epochs_ != nullptr && epoch != kNoEpoch &&
           epochs_->state(epoch) == versioning::BulkEpochs::State::committed &&
           epochs_->at(epoch, &viewer) == versioning::Sight::invisible;
  }
  /// Of the virtual versions of a leaf with this epoch; `viewer` null: the newest state.
  [[nodiscard]] versioning::Sight sight_of(BulkEpoch epoch,
                                           const versioning::Viewer* viewer) const noexcept {
    return epochs_ == nullptr ? versioning::Sight::visible : epochs_->at(epoch, viewer);
  }
  [[nodiscard]] FrameIndex root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t page_size() const noexcept { return pool_->page_size_bytes(); }

 private:
  // Optimistic-safe: bounded by the views.
  [[nodiscard]] Step route_in(const std::byte* page, const Target& target) const noexcept {
    const InnerView node(page, pool_->page_size_bytes());
    Step step;
    step.level = node.level();
    if (step.level > 0) {
      step.index = target.child_of(node);
      step.child = {buffer::Swip::of_word(node.swip_at(step.index)), node.swip_offset(step.index)};
    }
    return step;
  }

  template <class Guard>
  [[nodiscard]] static Attempt<Guard> convert(buffer::OptimisticPage node) {
    if constexpr (std::same_as<Guard, buffer::OptimisticPage>) {
      return node;
    } else if constexpr (std::same_as<Guard, buffer::SharedPage>) {
      return std::move(node).to_shared();
    } else {
      return std::move(node).to_exclusive();
    }
  }

  template <class Guard>
  [[nodiscard]] Attempt<Guard> follow(buffer::OptimisticPage& parent, buffer::SwipRef child) const {
    if constexpr (std::same_as<Guard, buffer::OptimisticPage>) {
      return pool_->follow(parent, child);
    } else if constexpr (std::same_as<Guard, buffer::SharedPage>) {
      return pool_->follow_shared(parent, child);
    } else {
      return pool_->follow_exclusive(parent, child);
    }
  }

  buffer::BufferPool* pool_;
  versioning::BulkEpochs* epochs_;
  FrameIndex root_;
};

}  // namespace palimpsest::btree
