// Pages of memory from the system: zeros, and resident only from their first use on.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace palimpsest {

class ReservedMemory {
 public:
  /// data() is null, and errno says why, if the address range cannot be had.
  explicit ReservedMemory(std::size_t size_bytes) noexcept
      : memory_(map(size_bytes), Unmap{size_bytes}) {}

  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }

 private:
  struct Unmap {
    std::size_t size_bytes;
    void operator()(std::byte* memory) const noexcept { ::munmap(memory, size_bytes); }
  };

  static std::byte* map(std::size_t size_bytes) noexcept {
    void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  }

  std::unique_ptr<std::byte, Unmap> memory_;
};

}  // namespace palimpsest
