// An allocator of standard containers whose memory counts as that of entries (entry_memory.h).
//
// Thread-safety: as the container's.
#pragma once

#include <cstddef>

#include "versioning/entry_memory.h"

namespace palimpsest::versioning {

template <class T>
class EntryAllocator {
 public:
  using value_type = T;

  /// Outlives what it is asked for.
  EntryAllocator(EntryMemory& memory) noexcept  // NOLINT(google-explicit-constructor)
      : memory_(&memory) {}
  template <class Other>
  EntryAllocator(
      const EntryAllocator<Other>& other) noexcept  // NOLINT(google-explicit-constructor)
      : memory_(&other.memory()) {}

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
