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
#include "base/prefetch.h"
#include "btree/node/inner_node.h"
#include "btree/shortcuts.h"
#include "buffer/buffer_pool.h"
#include "buffer/known_frame.h"
#include "buffer/tree_root.h"
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
    return node.route_within(key);
  }
};

class Descent {
 public:
  /// `epochs`: of its leaves; null: all bulks are settled. `shortcuts`: of this tree alone; null:
  /// every walk begins at the root. All outlive it.
  Descent(const buffer::TreeRoot& root, TreeId tree, versioning::BulkEpochs* epochs = nullptr,
          Shortcuts* shortcuts = nullptr) noexcept
      : pool_(&root.pool()), epochs_(epochs), shortcuts_(shortcuts), root_(root), tree_(tree) {}

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
    const bool may_guess = level == 0 && shortcuts_ != nullptr && target.side == Target::Side::at;
    Start start = may_guess ? shortcut(target.key, shortcuts_->guess(target.key)) : Start{};
    if (!start.node.holds()) [[unlikely]] {
      if (!at_root(start)) [[unlikely]] {
        return restart;
      }
      if (start.level <= level) [[unlikely]] {
        return start.level == level && start.node.unchanged()
                   ? convert<Guard>(std::move(start.node))
                   : restart;
      }
      if (may_guess && start.level > 1 && shortcuts_->is_due()) [[unlikely]] {
        start.node.release();
        renew_shortcuts();
        return restart;
      }
    }
    return walk<Guard>(std::move(start), target, level);
  }

  /// The edge to a leaf: where it leads, of a node that is as it was.
  struct LeafEdge {
    buffer::OptimisticPage parent;
    buffer::SwipRef child;
  };

  // That on the way to a key, in steps, for who looks for many: each asks the processor for what
  // the next one reads.

  /// Where the walk will begin, as far as it can be guessed.
  [[nodiscard]] Shortcuts::Guess guess(ByteView key) const noexcept;
  /// Looks at that node.
  void prefetch_edge(ByteView key, const Shortcuts::Guess& guess) const noexcept;
  /// The edge, from there; restart as try_node(), and if the root is a leaf.
  [[nodiscard]] Attempt<LeafEdge> try_edge(ByteView key, const Shortcuts::Guess& guess) const;

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
      Start start;
      if (at_root(start) && start.node.unchanged()) {
        return start.level;
      }
    }
  }

  [[nodiscard]] buffer::BufferPool& pool() const noexcept { return *pool_; }
  /// Null: all bulks are settled.
  [[nodiscard]] versioning::BulkEpochs* epochs() const noexcept { return epochs_; }
  /// Whether the bulk of a leaf's epoch has committed, too late for this read view.
  [[nodiscard]] bool has_committed_since(BulkEpoch epoch,
                                         const versioning::ReadView& read_view) const noexcept {
    return epochs_ != nullptr && epoch != kNoEpoch &&
           epochs_->state(epoch) == versioning::BulkEpochs::State::committed &&
           epochs_->at(epoch, &read_view) == versioning::Visibility::invisible;
  }
  /// Of the virtual versions of a leaf with this epoch; `read view` null: the newest state.
  [[nodiscard]] versioning::Visibility visibility_of(
      BulkEpoch epoch, const versioning::ReadView* read_view) const noexcept {
    return epochs_ == nullptr ? versioning::Visibility::visible : epochs_->at(epoch, read_view);
  }
  [[nodiscard]] const buffer::TreeRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t page_size() const noexcept { return pool_->page_size_bytes(); }

 private:
  /// Where a walk begins. Neither what made it the right node nor its level has been validated.
  struct Start {
    buffer::OptimisticPage node;
    std::uint32_t level = 0;
  };

  // False: restart. Brings the root in if it is not in memory; throws as the pool then.
  [[nodiscard]] bool at_root(Start& start) const {
    if (root_.descend(start.node)) [[likely]] {
      start.level = InnerView(start.node.page(), page_size()).level();
      return true;
    }
    return false;
  }

  // To a lower level. What was read of a node is validated with the edge to its child.
  template <class Guard>
  [[nodiscard, gnu::always_inline]] Attempt<Guard> walk(Start start, const Target& target,
                                                        std::uint32_t level) const {
    buffer::OptimisticPage& node = start.node;
    for (std::uint32_t at = start.level; at > level + 1; --at) {
      if (!pool_->descend(node, child_of(node, target))) {
        return restart;
      }
    }
    const buffer::SwipRef child = child_of(node, target);
    if constexpr (std::same_as<Guard, buffer::OptimisticPage>) {
      return pool_->descend(node, child) ? Attempt<Guard>(std::move(node)) : restart;
    } else if (!node.unchanged()) {
      return restart;
    } else if constexpr (std::same_as<Guard, buffer::SharedPage>) {
      return pool_->follow_shared(node, child);
    } else {
      return pool_->follow_exclusive(node, child);
    }
  }

  // The inner node that was guessed, if it is on the key's way; or none.
  [[nodiscard]] Start shortcut(ByteView key, const Shortcuts::Guess& guess) const noexcept {
    if (guess.is_proven && pool_->frames().contains(guess.frame)) [[likely]] {
      auto node = buffer::searched_at(pool_->frames(), guess.frame, guess.version);
      if (node) [[likely]] {
        const std::uint32_t level = InnerView(node->page(), page_size()).level();
        return {.node = *std::move(node), .level = level};
      }
    }
    return guess.frame == kNoFrame ? Start{} : start_covering(key, guess.frame);
  }
  // The same by its fences. A resident inner node of this tree that covers the key is on its way.
  [[nodiscard]] Start start_covering(ByteView key, FrameIndex frame) const noexcept;

  void renew_shortcuts() const noexcept;
  void collect_children(const Shortcuts::Node& parent, std::uint32_t level,
                        std::vector<Shortcuts::Node>& into) const;

  // Optimistic-safe: bounded by the views. A leaf, which a torn level makes an inner node, has
  // bytes where that has swips.
  [[nodiscard]] buffer::SwipRef child_of(const buffer::OptimisticPage& page,
                                         const Target& target) const noexcept {
    const InnerView node(page.page(), page_size());
    const SlotIndex index = target.child_of(node);
    return {buffer::Swip::of_word(node.swip_at(index)), node.swip_offset(index)};
  }
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

  buffer::BufferPool* pool_;
  versioning::BulkEpochs* epochs_;
  Shortcuts* shortcuts_;
  buffer::TreeRoot root_;
  TreeId tree_;
};

}  // namespace palimpsest::btree
