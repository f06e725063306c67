#include "versioning/entry.h"

#include <cstring>
#include <functional>
#include <limits>
#include <new>

#include "base/check.h"
#include "base/sync_point.h"

namespace palimpsest::versioning {

void EntryDeleter::operator()(Entry* entry) const noexcept {
  const std::size_t size_bytes = entry->size_bytes();
  entry->~Entry();
  memory->deallocate(entry, size_bytes);
  memory->count_entries(-1);
}

EntryPtr Entry::make(EntryMemory& memory, TreeId tree, ByteView key) {
  check(key.size() <= std::numeric_limits<std::uint16_t>::max(), "a key is shorter than a page");
  void* at = memory.allocate(sizeof(Entry) + key.size());
  auto* made = new (at) Entry(static_cast<std::uint16_t>(key.size()));
  EntryPtr entry(made, EntryDeleter{&memory});
  memory.count_entries(1);
  entry->rename(tree, key);
  return entry;
}

void Entry::rename(TreeId tree, ByteView key) noexcept {
  debug_check(has_room_for(key) && is_empty(), "an entry set aside takes a key it has room for");
  tree_ = tree;
  hash_ = hash_of(key);
  key_size_ = static_cast<std::uint16_t>(key.size());
  if (!key.empty()) {
    std::memcpy(static_cast<void*>(this + 1), key.data(), key.size());
  }
}

std::size_t Entry::hash_of(ByteView key) noexcept {
  return std::hash<ByteView>{}(key);
}

void Entry::release() noexcept {
  debug_check(!is_empty(), "a writer releases what it has");
  EmptyCounter* counter = counter_.load(std::memory_order_relaxed);
  PALIMPSEST_SYNC_POINT("versioning.release.begun");
  writer_.store(kNoWriter, std::memory_order_release);
  // The counter is not the entry's (entry_memory.h). It rises after the entry has become empty:
  // whoever sees it risen, with acquire, sees that too.
  counter->fetch_add(1, std::memory_order_release);
}

}  // namespace palimpsest::versioning
