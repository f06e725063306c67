// Leaves in a row that hold nothing for anybody who looks from now on, as one slot remembers them:
// what an old reader keeps before the front of a queue, whichever of its ends that is.
//
// Why: their ghosts cannot be purged while that reader may need them, and each search for the front
// would latch every one of them, as all others who search do. Their latches' versions lie in many
// caches at once, and comparing them costs a twentieth.
// Argument: a leaf is taken in under its latch, when it has ghosts only and they are that to who
// sees what had been committed at `since_`: nobody writes to it, and no version of it is younger,
// as its table says; or all who have left versions there had ended before (I-12).
// Whoever changes that changes the page, and so its latch's version; eviction does, too. So who
// comes later and finds the version unchanged would find nothing there, at that moment, and the
// leaves' fences, which lie in them, still meet. As in a walk, each leaf is asked at a moment of
// its own.
// Walks have to meet what can be cleared away: so only leaves are taken in that were asked for in
// vain several times (ghost_leaves.h), more often than while the front passed over them, and all
// are forgotten now and then.
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
  /// Where walks begin: forwards from a lower bound, backwards from below an upper one.
  struct Start {
    TreeId tree;
    Direction direction;
    std::optional<ByteView> bound;  ///< backwards, nothing: the end of the tree
  };
  /// Such a walk begins. Where it may begin instead; nothing: there.
  [[nodiscard]] std::optional<ByteView> beyond(buffer::BufferPool& pool, const Start& start,
                                               const versioning::ReadView& read_view) noexcept;
  /// Such a walk has come through a leaf, latched shared.
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
  std::vector<Place> leaves_;  ///< from the one where walks begin
  Gsn since_{0};               ///< the newest snapshot that a leaf was taken in by
  std::uint32_t uses_ = 0;
  bool goes_on_ = false;  ///< the walk has met no leaf yet that is not in the run; a hint
};

}  // namespace palimpsest::btree
