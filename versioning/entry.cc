#include "versioning/entry.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <limits>
#include <new>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/sync_point.h"

namespace palimpsest::versioning {

void EntryDeleter::operator()(Entry* entry) const noexcept {
  const std::size_t size_bytes = entry->size_bytes();
  entry->~Entry();
  memory->deallocate(entry, size_bytes);
  memory->count_entries(-1);
}

// Allocates whole cache lines, so that an entry that is set aside fits most other keys, too.
EntryPtr Entry::make(EntryMemory& memory, std::size_t key_bytes) {
  const std::size_t lines = (sizeof(Entry) + key_bytes + kCacheLineBytes - 1) / kCacheLineBytes;
  check(lines <= std::numeric_limits<std::uint8_t>::max(), "a key is shorter than a page");
  void* at = memory.allocate(lines * kCacheLineBytes);
  auto* made = new (at) Entry(static_cast<std::uint8_t>(lines));
  EntryPtr entry(made, EntryDeleter{&memory});
  memory.count_entries(1);
  return entry;
}

void Entry::rename(TreeId tree, ByteView key, std::uint32_t hash) noexcept {
  PALIMPSEST_DEBUG_CHECK(has_room_for(key.size()) && is_empty(),
                         "the key of an entry set aside fits its memory");
  tree_ = tree;
  hash_ = hash & ((1U << kHashBits) - 1);
  key_size_ = static_cast<std::uint16_t>(key.size());
  if (!key.empty()) {
    std::memcpy(static_cast<void*>(this + 1), key.data(), key.size());
  }
}

std::uint32_t Entry::hash_of(ByteView key) noexcept {
  return static_cast<std::uint32_t>(XXH3_64bits(key.data(), key.size()) >> (64 - kHashBits));
}

void Entry::release() noexcept {
  PALIMPSEST_DEBUG_CHECK(!is_empty(), "a writer releases only its own entries");
  // The counter outlives the entry (entry_memory.h). A thread that empties a chain counts that
  // itself.
  EmptyCounter* const counter = has_versions() ? nullptr : counter_.load(std::memory_order_relaxed);
  PALIMPSEST_SYNC_POINT("versioning.release.begun");
  writer_.store(kNoWriter, std::memory_order_release);
  if (counter != nullptr) {
    count_empty(*counter);
  }
}

}  // namespace palimpsest::versioning
