// An allocator for standard containers; its memory counts as that of entries (entry_memory.h).
//
// Thread-safety: that of the container.
#pragma once

#include <cstddef>

#include "versioning/entry_memory.h"

namespace palimpsest::versioning {

template <class T>
class EntryAllocator {
 public:
  using value_type = T;

  /// `memory` outlives everything allocated from it.
  EntryAllocator(EntryMemory& memory) noexcept  // NOLINT(google-explicit-constructor)
      : memory_(&memory) {}
  template <class Other>
  EntryAllocator(const EntryAllocator<Other>& from) noexcept  // NOLINT(google-explicit-constructor)
      : memory_(&from.memory()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(memory_->allocate(count * sizeof(T)));
  }
  void deallocate(T* objects, std::size_t count) noexcept {
    memory_->deallocate(objects, count * sizeof(T));
  }
  [[nodiscard]] EntryMemory& memory() const noexcept { return *memory_; }

  friend bool operator==(const EntryAllocator& left, const EntryAllocator& right) noexcept {
    return left.memory_ == right.memory_;
  }

 private:
  EntryMemory* memory_;
};

}  // namespace palimpsest::versioning
