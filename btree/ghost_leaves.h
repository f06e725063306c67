// Leaves that yield nothing to a walk: all their records are ghosts, or they have none. A walk
// changes nothing; it remembers one such leaf, and the tree's next writer clears it.
//
// Why: a purge comes too early while a reader needs the ghosts, and a merge while the neighbours
// are full. Leaves that are not written to any more get no other occasion. They slow down each
// search for the front of a queue, and those searches notice them.
// A walk always meets one or two: the front leaf, and the first child of a parent, which is merged
// when its neighbour gets thin. From kInTheWay on, one of them is chosen at random with equal
// probability. Each purge in vain halves the probability of a leaf, so a leaf that an old reader
// needs costs an attempt only now and then.
//
// A leaf emptied by bulks counts, too; whether the bulk is retired is found out when the leaf is
// cleared.
//
// Latching: meet() with the leaf latched. Failure: none; without memory none is remembered.
// Thread-safety: belongs to one walk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "btree/leaf_entries.h"
#include "btree/node/leaf_node.h"

namespace palimpsest::btree {

class GhostLeaves {
 public:
  /// `seed`: different for each walk.
  explicit GhostLeaves(std::uint64_t seed) noexcept : random_(seed) {}

  /// Whether a leaf holds nothing but ghosts.
  [[nodiscard]] static bool is_dead(const LeafView& leaf) noexcept {
    return leaf.ghost_count() == leaf.count();
  }
  /// The walk meets a dead leaf. `has_left`: whether it has a left neighbour to be merged into.
  void meet(const buffer::Frame& frame, const LeafView& leaf, bool has_left) noexcept;

  /// How many were met.
  [[nodiscard]] std::uint32_t met() const noexcept { return met_; }
  /// A key of one that may be cleared.
  [[nodiscard]] std::optional<ByteView> key() const noexcept {
    return met_ >= kInTheWay && !key_.empty() ? std::optional<ByteView>(key_) : std::nullopt;
  }

 private:
  static constexpr std::uint32_t kInTheWay = 3;

  [[nodiscard]] std::uint32_t random_below(std::uint32_t bound) noexcept;

  std::uint64_t random_;
  std::uint32_t met_ = 0;
  std::uint32_t candidates_ = 0;
  std::string key_;  ///< of one of them
};

}  // namespace palimpsest::btree
