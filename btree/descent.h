// Finds the node of a level that covers a key: the walk from the root down.
//
// The walk reads inner nodes optimistically. It takes a child's version first and then validates
// the edge to the child, so it writes nothing shared. Only the requested node is latched, in the
// mode named by the guard type. A child's level follows from its parent (checked when the page was
// attached), so no page is looked at before it is latched.
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

/// Which child to take at an inner node.
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
  /// `epochs`: of its leaves; null: all bulks are retired. `shortcuts`: of this tree alone; null:
  /// every walk begins at the root. All outlive it.
  Descent(const buffer::TreeRoot& root, TreeId tree, versioning::BulkEpochs* epochs = nullptr,
          Shortcuts* shortcuts = nullptr) noexcept
      : pool_(&root.pool()), epochs_(epochs), shortcuts_(shortcuts), root_(root), tree_(tree) {}

  /// A step from an inner node: the child, its index, and the level of the inner node.
  struct Step {
    buffer::SwipRef child;
    SlotIndex index = 0;
    std::uint32_t level = 0;
  };

  /// Reads which child to take at `node`.
  [[nodiscard]] Attempt<Step> route(const buffer::OptimisticPage& node,
                                    const Target& target) const noexcept {
    return node.read([&](const std::byte* page) { return route_in(page, target); });
  }

  /// The node of `level` on the way to `target`; restart also if the tree is not that high.
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

  /// The edge to a leaf, read from a parent that has not changed since.
  struct LeafEdge {
    buffer::OptimisticPage parent;
    buffer::SwipRef child;
  };

  // The path to a leaf's edge in steps, for searches of many keys at once. Each step prefetches
  // into the processor's cache what the next one reads.

  /// A guess where the walk will begin.
  [[nodiscard]] Shortcuts::Guess guess(ByteView key) const noexcept;
  /// Prefetches from that node.
  void prefetch_edge(ByteView key, const Shortcuts::Guess& guess) const noexcept;
  /// Continues from there to the edge; restart as try_node(), and if the root is a leaf.
  [[nodiscard]] Attempt<LeafEdge> try_edge(ByteView key, const Shortcuts::Guess& guess) const;

  /// try_node(), repeated until it succeeds, for a level that the tree has.
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

  /// Starts to load the first non-resident page on the way to the leaf, if any. True: nothing more
  /// can be started. False: the leaf itself is not known yet, or the walk has to restart. Does not
  /// wait; see BufferPool::begin_load() for the caller's duties.
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
  /// Null: all bulks are retired.
  [[nodiscard]] versioning::BulkEpochs* epochs() const noexcept { return epochs_; }
  /// Whether the bulk of this leaf epoch committed after the read view's snapshot.
  [[nodiscard]] bool has_committed_since(BulkEpoch epoch,
                                         const versioning::ReadView& read_view) const noexcept {
    return epochs_ != nullptr && epoch != kNoEpoch &&
           epochs_->state(epoch) == versioning::BulkEpochs::State::committed &&
           epochs_->at(epoch, &read_view) == versioning::Visibility::invisible;
  }
  /// The visibility of virtual versions of this epoch; `read_view` null: the newest state.
  [[nodiscard]] versioning::Visibility visibility_of(
      BulkEpoch epoch, const versioning::ReadView* read_view) const noexcept {
    return epochs_ == nullptr ? versioning::Visibility::visible : epochs_->at(epoch, read_view);
  }
  [[nodiscard]] const buffer::TreeRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t page_size() const noexcept { return pool_->page_size_bytes(); }

 private:
  /// Where a walk begins. That it is the right node, and its level, have not been validated yet.
  struct Start {
    buffer::OptimisticPage node;
    std::uint32_t level = 0;
  };

  // False: restart. Loads the root if it is not in memory; throws what the pool throws.
  [[nodiscard]] bool at_root(Start& start) const {
    if (root_.descend(start.node)) [[likely]] {
      start.level = InnerView(start.node.page(), page_size()).level();
      return true;
    }
    return false;
  }

  // Walks to a lower level. What is read of a node is validated with the edge to its child.
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

  // The guessed inner node, if it is on the key's path; else none.
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
  // shortcut() by fences: a resident inner node of this tree that covers the key is on its path.
  [[nodiscard]] Start start_covering(ByteView key, FrameIndex frame) const noexcept;

  void renew_shortcuts() const noexcept;
  void collect_children(const Shortcuts::Node& parent, std::uint32_t level,
                        std::vector<Shortcuts::Node>& into) const;

  // Optimistic-safe: bounded by the views. In a leaf (if `level` was torn) the bytes read as swips
  // are other data.
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
