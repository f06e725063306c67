// Which leaf a writer used last in each tree, where remembering it pays.
//
// A transaction that inserts an order's lines writes ten times to one leaf of one tree, and to
// leaves far apart of another. In the first the memory spares a descent; in the second it costs a
// comparison each time, and is asked now and then only, until it has been right again.
// Thread-safety: belongs to one thread at a time, as LastLeaf does. One pool's trees.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "btree/last_leaf.h"

namespace palimpsest::btree {

class LeafMemory {
 public:
  /// Of the next operation on this tree: its memory, or null. Good until the next call: another
  /// tree may take its place.
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
    return ++place.asked % kAskedEvery < 2 ? &place.leaf : nullptr;  // the second may find it
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
