// Heap memory with the alignment that transfers to the storage device require.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/bytes.h"

namespace palimpsest {

/// An owned, aligned block of bytes. Throws std::bad_alloc when there is no memory.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  /// Filled with zeros.
  AlignedMemory(std::size_t size_bytes, std::size_t alignment_bytes)
      : AlignedMemory(for_overwrite(size_bytes, alignment_bytes)) {
    std::fill_n(memory_.get(), size_bytes_, std::byte{0});
  }
  /// Uninitialised: for callers that write every byte before reading it.
  [[nodiscard]] static AlignedMemory for_overwrite(std::size_t size_bytes,
                                                   std::size_t alignment_bytes) {
    AlignedMemory made;
    made.size_bytes_ = size_bytes;
    const std::size_t rounded =
        (size_bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    made.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, rounded)));
    if (made.memory_ == nullptr) {
      throw std::bad_alloc();
    }
    return made;
  }

  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] MutableBytes bytes() const noexcept { return {memory_.get(), size_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_bytes_ = 0;
};

}  // namespace palimpsest
