// Pages of memory from the system: zeros, and resident only from their first use on.
#pragma once

#include <cstddef>
#include <memory>

namespace palimpsest {

class ReservedMemory {
 public:
  /// data() is null, and errno says why, if the address range cannot be had.
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
