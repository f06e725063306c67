// Where ghosts lie that can go once a snapshot has ended: a key of each leaf whose removals were
// folded into a span (spans.h), with the date from which on they can.
//
// A removal that keeps its version is noted when that is collected (ghost_hints.h). One that was
// folded has none, and a leaf of an erased range has no other occasion: nothing is written to it
// any more. So the folding that begins such a span notes the leaf here, for a later writer of that
// tree. Hints, as all ghost hints: the span may have grown since, the leaf may have been cleared;
// beyond kHintsMax of a place none is noted. Walks meet what was missed (btree/ghost_leaves.h).
//
// Latching: a mutex a place, a leaf of the latch order. Failure: none; without memory nothing is
// noted. Thread-safety: all functions, from any thread.
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

  /// One of this tree that can go by this horizon; it is forgotten.
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
  /// In the order in which they were noted, which is about that of their dates.
  struct alignas(64) Place {
    std::mutex mutex;
    std::deque<Hint> hints;
    std::atomic<Gsn> due{kNever};  ///< of the first; a hint without the mutex
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
