// Walks over the leaves of a range of keys, forwards or backwards, one latched leaf at a time.
//
// Leaves have no sibling pointers, so the walk continues from the fence of the leaf it leaves.
// While the parent's version is the one at which the last leaf was found, that fence is the
// separator to the parent's next child, and the step follows one swip. Otherwise, or at the
// parent's end, the step is a new descent. Between two leaves nothing is latched and anything may
// change. Every record that exists throughout the walk is met once, in order, because fences
// partition the keys whatever splits and merges happen.
// Read-ahead: whenever the next leaf is not in memory, its right (or left) neighbours under the
// same parent are loaded with it, with overlapping reads: twice as many each time, so that a short
// range costs little and a long scan keeps the device busy.
//
// Latching: next() is called with no latch but the walk's own, which it releases first; it may do
//           I/O. While a leaf is held the caller neither calls the engine nor blocks.
// Thread-safety: a walk belongs to one thread. Failure: throws what the pool throws; the walk then
// holds nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "btree/descent.h"
#include "btree/node/key_bytes.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

enum class Direction : std::uint8_t { forward = 1, backward };

/// Keys in [lower, upper); an empty lower is below every key, no upper is above every key.
struct KeyRange {
  ByteView lower;
  std::optional<ByteView> upper;
};

/// The keys that start with `prefix`; `storage` holds the upper bound and must outlive the range.
[[nodiscard]] KeyRange prefix_range(ByteView prefix, KeyBuffer& storage) noexcept;

/// Finds the leaves of a scan one after the other, with read-ahead.
class LeafFinder {
 public:
  LeafFinder(const Descent& descent, Direction direction) noexcept
      : descent_(&descent), direction_(direction) {}

  /// The leaf on the path to `target`, latched shared. After the first call, `target` is the fence
  /// at which the scan leaves the previous leaf.
  [[nodiscard]] buffer::SharedPage leaf(const Target& target);

  /// The index of the last leaf found among its parent's children; 0 if it has no parent.
  [[nodiscard]] SlotIndex index() const noexcept { return parent_ == kNoFrame ? 0 : index_; }

  /// Prefetches the neighbour of the last leaf found into the processor's cache, if it is resident,
  /// while the caller reads that leaf.
  void prefetch_beside() const noexcept;

 private:
  /// The inner node above a leaf, and the leaf's index among its children.
  struct Edge {
    buffer::OptimisticPage parent;
    buffer::SwipRef child;
    SlotIndex index = 0;
  };

  [[nodiscard]] Attempt<Edge> edge_to(const Target& target);
  [[nodiscard]] Attempt<Edge> edge_beside() const noexcept;
  [[nodiscard]] Attempt<buffer::SwipRef> child_at(const buffer::OptimisticPage& parent,
                                                  SlotIndex index) const noexcept;
  [[nodiscard]] SlotIndex beside(SlotIndex index) const noexcept {
    return direction_ == Direction::forward ? index + 1 : index - 1;  // from 0 it wraps
  }
  [[nodiscard]] bool load_neighbours(const Edge& edge);
  void remember(const Edge& edge) noexcept;

  const Descent* descent_;
  Direction direction_;
  FrameIndex parent_ = kNoFrame;  ///< of the leaf found last; none: unknown
  std::uint64_t parent_version_ = 0;
  SlotIndex index_ = 0;       ///< of the leaf found last
  std::uint32_t window_ = 1;  ///< leaves to load when one is missing
  std::vector<buffer::SwipRef> missing_;
  std::vector<buffer::BufferPool::Load> loads_;
};

class LeafWalk {
 public:
  /// `range` need not outlive the constructor. Throws invalid_argument for a bound longer than the
  /// longest key of any page size.
  LeafWalk(const Descent& descent, const KeyRange& range, Direction direction);

  /// Latches the next leaf that may hold keys of the range; false at the end.
  [[nodiscard]] bool next();
  /// Releases the leaf; next() continues the walk.
  void release() noexcept { leaf_.release(); }

  /// The leaf held, and its records in the range: [first, last), ascending in either direction.
  /// They include ghosts (for_each_live_run()).
  [[nodiscard]] LeafView leaf() const noexcept {
    PALIMPSEST_DEBUG_CHECK(leaf_.holds(), "the walk holds a leaf");
    return {leaf_.page(), descent_->page_size()};
  }
  [[nodiscard]] const buffer::Frame& frame() const noexcept { return leaf_.frame(); }
  /// Whether the leaf may have a left neighbour under the same parent.
  [[nodiscard]] bool has_left() const noexcept { return finder_.index() != 0; }
  [[nodiscard]] SlotIndex first() const noexcept { return first_; }
  [[nodiscard]] SlotIndex last() const noexcept { return last_; }

 private:
  void enter_forward(const LeafView& leaf);
  void enter_backward(const LeafView& leaf);

  const Descent* descent_;
  Direction direction_;
  LeafFinder finder_;
  KeyBuffer lower_;
  KeyBuffer upper_;
  bool upper_is_infinite_;
  bool begun_ = false;
  bool ended_ = false;
  buffer::SharedPage leaf_;
  SlotIndex first_ = 0;
  SlotIndex last_ = 0;
};

/// Calls visitor(leaf, first, last) for each leaf of the range, under its shared latch: records
/// [first, last) of `leaf` are in the range; for Direction::backward the caller goes through them
/// from last - 1 down. Ghosts are left out: a leaf that has some is visited once for each run of
/// records between them. The visitor returns whether to continue; it must neither block nor call
/// the engine. Values of records flagged kLargeValue are descriptors.
template <class Visitor>
void visit_leaves(const Descent& descent, const KeyRange& range, Direction direction,
                  Visitor&& visitor) {
  LeafWalk walk(descent, range, direction);
  while (walk.next()) {
    const LeafView leaf = walk.leaf();
    if (!for_each_live_run(
            leaf, walk.first(), walk.last(), direction == Direction::backward,
            [&](SlotIndex first, SlotIndex last) { return visitor(leaf, first, last); })) {
      return;
    }
  }
}

}  // namespace palimpsest::btree
