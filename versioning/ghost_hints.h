// Where ghosts lie that nobody needs any more: keys of records that were removed, of which a leaf
// may be full that no one writes to again.
//
// Who removes a record purges its leaf now and then, of what nobody needs at that time. With an old
// reader that is nothing, and later nobody comes back: a queue whose front moves on leaves leaves
// full of ghosts behind, over which each search for the front has to go. So whoever collects the
// version of a removal notes where that was, and the owner of the slot purges that leaf when it
// writes to that tree again.
// Removals that were folded have ghost hints of their own (folded_ghost_hints.h).
// What that misses, walks meet (btree/ghost_leaf_notes.h).
// Hints: a ghost may have gone, be a record again, or never be noted. One removal in eight is, for
// a leaf that is worth it has many, and each of a value that keeps pages of its own; beyond some
// hundred notes none is.
//
// Thread-safety: note() and take() under the latch of the slot's version buffer; may_have(), any
//                thread. Failure: none; without memory nothing is noted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "versioning/entry.h"

namespace palimpsest::versioning {

class GhostHints {
 public:
  /// The version of a change that may have been a removal goes, and nobody needs it.
  void note(const Entry& entry, bool keeps_pages) noexcept {
    if (keeps_pages || entry.hash() % kOneIn == 0) {
      add(entry);
    }
  }

  /// Whether take() is worth a latch.
  [[nodiscard]] bool may_have(TreeId tree) const noexcept {
    return counts_[place_of(tree)].load(std::memory_order_relaxed) != 0;
  }
  /// The key of one in this tree, which is forgotten.
  [[nodiscard]] std::optional<std::string> take(TreeId tree) noexcept;

 private:
  struct Hint {
    TreeId tree;
    std::string key;
  };

  static constexpr std::size_t kOneIn = 8;
  static constexpr std::size_t kPlaces = 16;
  static constexpr std::size_t kHintsMax = 512;  ///< a place
  static constexpr std::size_t kKeyBytesMax = 256;

  [[nodiscard]] static std::size_t place_of(TreeId tree) noexcept { return raw(tree) % kPlaces; }
  void add(const Entry& entry) noexcept;

  std::array<std::vector<Hint>, kPlaces> hints_;
  std::array<std::atomic<std::uint16_t>, kPlaces> counts_{};  ///< hints_[].size()
  std::size_t turn_ = 0;
};

}  // namespace palimpsest::versioning
