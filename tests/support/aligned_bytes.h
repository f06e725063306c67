// Bytes at an address that unbuffered transfers may use, with the convenience of a vector.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace palimpsest::test {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{4096};

  AlignedAllocator() = default;
  template <class U>
  explicit AlignedAllocator(const AlignedAllocator<U>& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept {
    ::operator delete(memory, kAlignment);
  }
  bool operator==(const AlignedAllocator&) const = default;
};

using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

}  // namespace palimpsest::test
