// Ghost hints for folded removals: a key of each leaf with removals that were folded into a span
// (spans.h), and the date from which on its ghosts can be purged.
//
// A removal that has a version is noted when that is collected (ghost_hints.h). A folded removal
// has none, and a leaf of an erased range has no other occasion: no transaction writes to it any
// more. So the folding that begins such a span notes the leaf here, for a later writer of that
// tree. These are hints: the span may have grown since, the leaf may have been cleared, and a place
// with kHintsMax of them notes no more. Scans meet what was missed (btree/ghost_leaves.h).
//
// Latching: a mutex per place, a leaf of the latch order. Failure: none; without memory nothing is
//           noted. Thread-safety: all functions, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace palimpsest::versioning {

class FoldedGhostHints {
 public:
  void note(TreeId tree, ByteView key, Gsn date) noexcept;

  /// Takes out a hint of this tree with ghosts that can be purged by this horizon.
  [[nodiscard]] std::optional<std::string> take(TreeId tree, Gsn horizon) noexcept {
    Place& place = places_[raw(tree) % kPlaces];
    if (place.due.load(std::memory_order_relaxed) > horizon) [[likely]] {
      return std::nullopt;
    }
    return take_from(place, tree, horizon);
  }

 private:
  struct Hint {
    Gsn date;
    TreeId tree;
    std::string key;
  };
  /// Hints in the order in which they were noted, which is about that of their dates.
  struct alignas(64) Place {
    std::mutex mutex;
    std::deque<Hint> hints;
    std::atomic<Gsn> due{kNever};  ///< date of the first; a hint without the mutex
  };

  static constexpr Gsn kNever{std::numeric_limits<std::uint64_t>::max()};
  static constexpr std::size_t kPlaces = 16;
  static constexpr std::size_t kHintsMax = 4096;
  static constexpr std::size_t kKeyBytesMax = 256;
  static constexpr std::size_t kLookedAt = 8;

  static void put_back(std::deque<Hint>& hints, Hint hint) noexcept;
  [[nodiscard]] static std::optional<std::string> take_from(Place& place, TreeId tree,
                                                            Gsn horizon) noexcept;

  std::array<Place, kPlaces> places_;
};

}  // namespace palimpsest::versioning
