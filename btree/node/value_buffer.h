// Memory for one value as it lies in a leaf, including a shadow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/thread_blocks.h"
#include "btree/node/node_layout.h"

namespace palimpsest::btree {

/// Memory for one in-page value of pages of a size, for use on the stack. Values of the smallest
/// pages lie in the buffer itself, longer ones in a block of the thread (base/thread_blocks.h).
class ValueBuffer {
 public:
  /// For pages of any size: not for bytes that are read optimistically.
  ValueBuffer() noexcept : ValueBuffer(buffer::kPageSizeMax) {}
  explicit ValueBuffer(std::uint32_t page_size) noexcept  // NOLINT(*-member-init): not bytes_
      : bytes_max_(stored_bytes_max(page_size)) {}

  /// Cut off at the longest value: for bytes read optimistically.
  void assign_clamped(ByteView value) noexcept {
    size_ = 0;
    if (value.size() <= bytes_.size() && !block_.has_memory()) [[likely]] {
      std::copy_n(value.data(), value.size(), bytes_.data());
      size_ = value.size();
    } else {
      append(value);
    }
  }
  /// Cut off likewise. The bytes do not lie in this buffer.
  void append(ByteView bytes) noexcept {
    const ByteView fits = bytes.substr(0, bytes_max_ - size_);
    if (!fits.empty()) {
      std::memcpy(room(size_ + fits.size()) + size_, fits.data(), fits.size());
      size_ += fits.size();
    }
  }
  /// Bytes within the value.
  void patch(std::size_t offset, ByteView bytes) noexcept {
    check(offset <= size_ && bytes.size() <= size_ - offset, "a patch lies within its value");
    std::memcpy(begin() + offset, bytes.data(), bytes.size());
  }
  [[nodiscard]] ByteView view() const noexcept {
    return {block_.has_memory() ? block_.chars() : bytes_.data(), size_};
  }
  /// Memory for `bytes` bytes, at most those of the longest value, for callers that fill it
  /// themselves.
  [[nodiscard]] char* data(std::size_t bytes) noexcept { return room(bytes); }
  [[nodiscard]] MutableBytes mutable_bytes() noexcept {
    return std::as_writable_bytes(std::span(begin(), size_));
  }

 private:
  [[nodiscard]] char* begin() noexcept {
    return block_.has_memory() ? block_.chars() : bytes_.data();
  }
  /// Where the value lies, with memory for so many bytes.
  [[nodiscard]] char* room(std::size_t bytes) noexcept {
    if (bytes > bytes_.size() && !block_.has_memory()) [[unlikely]] {
      block_.take();
      std::memcpy(block_.data(), bytes_.data(), size_);
    }
    return begin();
  }

  ThreadBlock block_;  ///< if it has memory, the value lies there
  std::size_t size_ = 0;
  const std::size_t bytes_max_;
  std::array<char, stored_bytes_max(buffer::kPageSizeMin)> bytes_;
};
static_assert(stored_bytes_max(buffer::kPageSizeMax) <= ThreadBlock::kBytes);

}  // namespace palimpsest::btree
