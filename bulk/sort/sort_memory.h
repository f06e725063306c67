// All memory of a sort: one allocation, handed out in parts, and again for the next phase.
//
// It is not touched before it is used: a sort of few records takes few of the machine's pages.
// Thread-safety: belongs to one thread; each part to its user.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/bytes.h"
#include "base/check.h"

namespace palimpsest::bulk {

/// The largest alignment that a storage device requires of addresses, offsets and sizes.
inline constexpr std::size_t kSortAlignmentBytes = 4096;

class SortMemory {
 public:
  /// Throws std::bad_alloc.
  explicit SortMemory(std::size_t size_bytes)
      : memory_(static_cast<std::byte*>(
            ::operator new(size_bytes, std::align_val_t{kSortAlignmentBytes}))),
        size_bytes_(size_bytes) {}

  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// Takes an unused part; its content is undefined.
  [[nodiscard]] MutableBytes take(std::size_t bytes, std::size_t alignment_bytes = 1) noexcept {
    const std::size_t begin = (used_ + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    check(begin <= size_bytes_ && bytes <= size_bytes_ - begin, "a sort stays within its memory");
    used_ = begin + bytes;
    return {memory_.get() + begin, bytes};
  }
  /// Takes all parts back.
  void reset() noexcept { used_ = 0; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete(memory, std::align_val_t{kSortAlignmentBytes});
    }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_bytes_;
  std::size_t used_ = 0;
};

}  // namespace palimpsest::bulk
