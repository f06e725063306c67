// A run of leaves that hold nothing for any later reader, remembered by one transaction slot so
// that walks can skip them: the ghosts that an old reader retains before the front of a queue, at
// either end of it.
//
// Why: the ghosts cannot be purged while that reader may need them, and each search for the front
// would latch every one of these leaves, as all concurrent searches do. The latch versions are
// shared by many caches at once, and comparing them costs a twentieth of that.
// Argument: a leaf is added under its latch, when it has only ghosts, and they are ghosts to every
// reader that sees what had committed at `since_`: no transaction is writing to the leaf, and none
// of its versions is younger, as its table says; or all transactions that left versions there had
// ended before (I-12). Any change of that changes the page, and so its latch version; so does
// eviction. A later reader that finds the version unchanged would find nothing in the leaf at that
// moment; and the fences, which lie in the leaves, still meet. As in a walk, each leaf is checked
// at a moment of its own.
// Walks must still meet the leaves that can be cleared. So only leaves whose ghosts several purges
// could not remove are added (ghost_leaves.h): more purges than happen while the front passes over
// a leaf. And all are forgotten now and then.
//
// Latching: none held by beyond(). Failure: without memory less is remembered.
// Thread-safety: belongs to one thread at a time. Pins nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/ghost_leaves.h"
#include "btree/leaf_walk.h"
#include "btree/node/leaf_node.h"
#include "buffer/buffer_pool.h"
#include "versioning/chain.h"

namespace palimpsest::btree {

class GhostRun {
 public:
  /// Where walks begin: forwards at a lower bound, backwards below an upper one.
  struct Start {
    TreeId tree;
    Direction direction;
    std::optional<ByteView> bound;  ///< backwards, nothing: the end of the tree
  };
  /// Such a walk begins. Returns where it may begin instead; nothing: at its start.
  [[nodiscard]] std::optional<ByteView> beyond(buffer::BufferPool& pool, const Start& start,
                                               const versioning::ReadView& read_view) noexcept;
  /// Such a walk has gone through a leaf, latched shared.
  void take_in(buffer::BufferPool& pool, const Start& start, const buffer::Frame& frame,
               const LeafView& leaf, const versioning::ReadView& read_view) noexcept {
    goes_on_ = goes_on_ && GhostLeaves::is_dead(leaf);
    if (goes_on_) [[unlikely]] {
      take_in_dead(pool, start, frame, leaf, read_view);
    }
  }

 private:
  struct Place {
    FrameIndex frame;
    std::uint64_t version;
  };
  static constexpr std::size_t kLeavesMax = 4096;
  static constexpr std::uint32_t kUsesMax = 512;
  static constexpr std::uint8_t kPurgesInVainMin = 6;

  void forget() noexcept;
  [[nodiscard]] bool begins_at(const Start& start) const noexcept {
    return tree_ == start.tree && direction_ == start.direction &&
           bound_is_given_ == start.bound.has_value() && (!start.bound || bound_ == *start.bound);
  }
  [[nodiscard]] bool follows(const Start& start, const LeafView& leaf) const noexcept;
  [[nodiscard]] bool is_unchanged(buffer::BufferPool& pool) const noexcept;
  void take_in_dead(buffer::BufferPool& pool, const Start& start, const buffer::Frame& frame,
                    const LeafView& leaf, const versioning::ReadView& read_view) noexcept;

  // Where walks begin:
  TreeId tree_ = kNoTree;
  Direction direction_ = Direction::forward;
  bool bound_is_given_ = false;
  std::string bound_;

  std::string end_;            ///< the fence at which a walk leaves the last leaf
  std::vector<Place> leaves_;  ///< in the order of walks
  Gsn since_{0};               ///< the newest snapshot by which a leaf was added
  std::uint32_t uses_ = 0;
  bool goes_on_ = false;  ///< the walk has met no leaf yet that does not belong to the run; a hint
};

}  // namespace palimpsest::btree
