#include "versioning/folded_ghost_hints.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace palimpsest::versioning {

void FoldedGhostHints::note(TreeId tree, ByteView key, Gsn date) noexcept {
  Place& place = places_[raw(tree) % kPlaces];
  const std::lock_guard lock(place.mutex);
  if (place.hints.size() >= kHintsMax || key.size() > kKeyBytesMax) {
    return;
  }
  try {
    place.hints.push_back({date, tree, std::string(key)});
  } catch (const std::bad_alloc&) {
    return;
  }
  place.due.store(place.hints.front().date, std::memory_order_relaxed);
}

void FoldedGhostHints::put_back(std::deque<Hint>& hints, Hint hint) noexcept {
  try {
    hints.push_back(std::move(hint));
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Trees share a place. If all hints looked at belong to other trees, one of them goes to the end,
// so that they hide none for long.
std::optional<std::string> FoldedGhostHints::take_from(Place& place, TreeId tree,
                                                       Gsn horizon) noexcept {
  const std::lock_guard lock(place.mutex);
  std::deque<Hint>& hints = place.hints;
  const auto end = hints.begin() + static_cast<std::ptrdiff_t>(std::min(kLookedAt, hints.size()));
  const auto found = std::find_if(hints.begin(), end, [&](const Hint& hint) {
    return hint.tree == tree && hint.date <= horizon;
  });
  std::optional<std::string> key;
  if (found != end) {
    key = std::move(found->key);
    hints.erase(found);
  } else if (hints.size() > kLookedAt) {
    Hint first = std::move(hints.front());
    hints.pop_front();
    put_back(hints, std::move(first));
  }
  place.due.store(hints.empty() ? kNever : hints.front().date, std::memory_order_relaxed);
  return key;
}

}  // namespace palimpsest::versioning
