// Remembers, per tree, the leaf that a writer used last, if that pays.
//
// A transaction that inserts the lines of an order writes ten times to one leaf of one tree, and to
// distant leaves of another. In the first tree the memory saves a descent. In the second it costs a
// comparison each time; there it is consulted only now and then, until it hits again.
// Thread-safety: belongs to one thread at a time, as LastLeaf does. All trees are of one pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "btree/last_leaf.h"

namespace palimpsest::btree {

class LeafMemory {
 public:
  /// The memory for the next operation on this tree, or null. Valid until the next call, which may
  /// give its slot to another tree.
  [[nodiscard]] LastLeaf* of(TreeId tree) noexcept {
    Place& place = places_[raw(tree) % places_.size()];
    if (place.tree != tree) [[unlikely]] {
      place.tree = tree;
      place.asked = 0;
      place.leaf.forget();
    }
    if (place.leaf.misses() < kMissesMax) {
      return &place.leaf;
    }
    return ++place.asked % kAskedEvery < 2 ? &place.leaf : nullptr;  // the second may hit
  }

 private:
  static constexpr std::size_t kPlaces = 16;
  static constexpr std::uint8_t kMissesMax = 4;
  static constexpr std::uint8_t kAskedEvery = 32;

  struct Place {
    TreeId tree = kNoTree;
    std::uint8_t asked = 0;
    LastLeaf leaf;
  };
  std::array<Place, kPlaces> places_;
};

}  // namespace palimpsest::btree
