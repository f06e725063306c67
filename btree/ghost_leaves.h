// Leaves that a walk comes through in vain: all their records are ghosts, or there are none. Who
// walks changes nothing; it remembers one of them, for who writes to that tree next to clear away.
//
// Why: a purge comes too early as long as somebody needs the ghosts, or a merge while neighbours
// are full, and in leaves that nobody writes to any more there is no other occasion. Those are in
// the way of each search for the front of a queue, which is who notices.
// One or two are met at any time: the front leaf, and the first child of a parent, which goes when
// its neighbour gets thin. From kInTheWay on, one is chosen at random, each as likely as another;
// but one whose ghosts were asked for in vain, half as likely after each time, and so one that an
// old reader needs costs a try now and then only.
//
// One that bulks have emptied is one, too: whether everybody sees that by now is found out when it
// is cleared away.
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
  /// `seed`: another one each time.
  explicit GhostLeaves(std::uint64_t seed) noexcept : random_(seed) {}

  /// Whether a leaf holds nothing but ghosts.
  [[nodiscard]] static bool is_dead(const LeafView& leaf) noexcept {
    return leaf.ghost_count() == leaf.count();
  }
  /// One that is dead. `has_left`: whether it has a neighbour that it could be merged into.
  void meet(const buffer::Frame& frame, const LeafView& leaf, bool has_left) noexcept;

  /// How many were met.
  [[nodiscard]] std::uint32_t met() const noexcept { return met_; }
  /// The key of one that may be cleared away.
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
