#include "versioning/folded_ghost_hints.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace palimpsest::versioning {

void FoldedGhostHints::note(TreeId tree, ByteView key, Gsn date) noexcept {
  Place& place = places_[raw(tree) % kPlaces];
  const std::lock_guard lock(place.mutex);
  if (place.graves.size() >= kHintsMax || key.size() > kKeyBytesMax) {
    return;
  }
  try {
    place.graves.push_back({date, tree, std::string(key)});
  } catch (const std::bad_alloc&) {
    return;
  }
  place.due.store(place.graves.front().date, std::memory_order_relaxed);
}

void FoldedGhostHints::put_back(std::deque<Hint>& graves, Hint grave) noexcept {
  try {
    graves.push_back(std::move(grave));
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Trees share a place. If all hints looked at belong to other trees, one of them goes to the end,
// so that they hide none for long.
std::optional<std::string> FoldedGhostHints::take_from(Place& place, TreeId tree,
                                                       Gsn horizon) noexcept {
  const std::lock_guard lock(place.mutex);
  std::deque<Hint>& graves = place.graves;
  const auto end = graves.begin() + static_cast<std::ptrdiff_t>(std::min(kLookedAt, graves.size()));
  const auto found = std::find_if(graves.begin(), end, [&](const Hint& grave) {
    return grave.tree == tree && grave.date <= horizon;
  });
  std::optional<std::string> key;
  if (found != end) {
    key = std::move(found->key);
    graves.erase(found);
  } else if (graves.size() > kLookedAt) {
    Hint first = std::move(graves.front());
    graves.pop_front();
    put_back(graves, std::move(first));
  }
  place.due.store(graves.empty() ? kNever : graves.front().date, std::memory_order_relaxed);
  return key;
}

}  // namespace palimpsest::versioning
