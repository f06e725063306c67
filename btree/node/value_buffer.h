// Memory for one value as it lies in a leaf, including a shadow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "btree/node/node_layout.h"

namespace palimpsest::btree {

/// Memory for one in-page value of any page size, for use on the stack.
class ValueBuffer {
 public:
  ValueBuffer() noexcept {}  // NOLINT(modernize-use-equals-default): leaves bytes_ uninitialised

  /// Cut off at the capacity: for bytes read optimistically.
  void assign_clamped(ByteView value) noexcept {
    size_ = 0;
    append(value);
  }
  /// Cut off likewise.
  void append(ByteView bytes) noexcept {
    const ByteView fits = bytes.substr(0, bytes_.size() - size_);
    if (!fits.empty()) {
      std::memcpy(bytes_.data() + size_, fits.data(), fits.size());
      size_ += fits.size();
    }
  }
  /// Bytes within the value.
  void patch(std::size_t offset, ByteView bytes) noexcept {
    check(offset <= size_ && bytes.size() <= size_ - offset, "a patch lies within its value");
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
  }
  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), size_}; }
  /// Memory for a value of any length up to the longest, for callers that fill it themselves.
  [[nodiscard]] char* data() noexcept { return bytes_.data(); }
  [[nodiscard]] MutableBytes mutable_bytes() noexcept {
    return std::as_writable_bytes(std::span(bytes_.data(), size_));
  }

 private:
  std::size_t size_ = 0;
  std::array<char, stored_bytes_max(buffer::kPageSizeMax)> bytes_;
};

}  // namespace palimpsest::btree
