// Memory for one value as it lies in a leaf.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "btree/node_layout.h"

namespace palimpsest::btree {

/// Memory for one in-page value of any page size, for use on the stack.
class ValueBuffer {
 public:
  ValueBuffer() noexcept {}  // NOLINT(modernize-use-equals-default): leaves bytes_ uninitialised

  /// Cut off at the capacity: for bytes read optimistically.
  void assign_clamped(ByteView value) noexcept {
    size_ = std::min(value.size(), bytes_.size());
    std::memcpy(bytes_.data(), value.data(), size_);
  }
  /// Bytes within the value.
  void patch(std::size_t offset, ByteView bytes) noexcept {
    check(offset <= size_ && bytes.size() <= size_ - offset, "a patch lies within its value");
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
  }
  [[nodiscard]] ByteView view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::size_t size_ = 0;
  std::array<char, record_bytes_max(buffer::kPageSizeMax)> bytes_;
};

/// Calls change(value); if it throws, the value is `before` again, unless that is empty.
template <class Change>
void change_whole(Change& change, MutableBytes value, ByteView before) {
  try {
    change(value);
  } catch (...) {
    if (!before.empty()) {
      std::memcpy(value.data(), before.data(), before.size());
    }
    throw;
  }
}

}  // namespace palimpsest::btree
