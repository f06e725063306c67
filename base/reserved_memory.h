// Memory pages from the system: zero-filled, and resident only from their first use.
#pragma once

#include <cstddef>
#include <memory>

namespace palimpsest {

class ReservedMemory {
 public:
  /// If the address range cannot be reserved, data() is null and errno gives the reason.
  explicit ReservedMemory(std::size_t size_bytes) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }

 private:
  struct Unmap {
    std::size_t size_bytes;
    void operator()(std::byte* memory) const noexcept;
  };

  std::unique_ptr<std::byte, Unmap> memory_;
};

}  // namespace palimpsest
