// Walking over the leaves of a range of keys, forwards or backwards, one latched leaf at a time.
//
// Leaves have no sibling pointers: the walk goes on from the fence of the leaf it leaves. As long
// as the parent's version is the one the last leaf was found at, that fence is the separator to the
// parent's next child, and the step is one swip; otherwise, or at the parent's end, it is a new
// descent. Between two leaves nothing is latched and anything may change; every record that exists
// throughout the walk is met once, in order, because fences partition the keys whatever splits and
// merges happen.
// Read-ahead: each time the next leaf is not in memory, its right (or left) neighbours under the
// same parent are loaded with it, their reads overlapping: twice as many each time, so that a short
// range costs little and a long scan keeps the device busy.
//
// Latching: next() is called with no latch but the walk's own, which it gives up first; it may do
//           I/O. While a leaf is held the caller neither calls the engine nor blocks.
// Thread-safety: a walk belongs to one thread. Failure: throws what the pool throws; the walk holds
//           nothing then.
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

/// The keys that start with `prefix`; `storage` keeps the upper bound and must outlive the range.
[[nodiscard]] KeyRange prefix_range(ByteView prefix, KeyBuffer& storage) noexcept;

/// Finds the leaves of a scan one after the other, reading ahead.
class LeafFinder {
 public:
  LeafFinder(const Descent& descent, Direction direction) noexcept
      : descent_(&descent), direction_(direction) {}

  /// The leaf on the way to `target`, latched shared. After the first, `target` is the fence at
  /// which the scan leaves the leaf found before.
  [[nodiscard]] buffer::SharedPage leaf(const Target& target);

  /// Which child of its parent the leaf found last is; 0 if there is no parent.
  [[nodiscard]] SlotIndex index() const noexcept { return parent_ == kNoFrame ? 0 : index_; }

  /// Asks the processor for the leaf beside the one found last, if it is resident: it comes while
  /// that one is read.
  void prefetch_beside() const noexcept;

 private:
  /// The inner node above a leaf, and which of its children that is.
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
  /// Lets the leaf go; the walk can be resumed by next().
  void release() noexcept { leaf_.release(); }

  /// The leaf held, and its records in the range: [first, last), ascending in either direction.
  /// Ghosts are among them (for_each_live_run()).
  [[nodiscard]] LeafView leaf() const noexcept {
    PALIMPSEST_DEBUG_CHECK(leaf_.holds(), "the walk holds a leaf");
    return {leaf_.page(), descent_->page_size()};
  }
  [[nodiscard]] const buffer::Frame& frame() const noexcept { return leaf_.frame(); }
  /// Whether a leaf to the left of it may hang below the same parent.
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
/// records between them. The visitor returns whether to go on; it must neither block nor call the
/// engine. Values of records flagged kLargeValue are descriptors.
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
