#include "btree/ghost_leaf_notes.h"

#include <new>
#include <utility>

namespace palimpsest::btree {

void GhostLeafNotes::note(ByteView key, std::uint32_t leaves) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return;
  }
  try {
    note_.key.assign(key);
  } catch (const std::bad_alloc&) {
    return;
  }
  note_.leaves = leaves;
  notes_.fetch_add(1, std::memory_order_relaxed);
  has_note_.store(true, std::memory_order_relaxed);
}

std::optional<GhostLeafNote> GhostLeafNotes::take() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !has_note_.load(std::memory_order_relaxed)) {
    return std::nullopt;
  }
  has_note_.store(false, std::memory_order_relaxed);
  return std::exchange(note_, {});
}

}  // namespace palimpsest::btree
