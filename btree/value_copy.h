// Memory for one value of any length: on the stack, unless the value is large.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "btree/node/value_buffer.h"

namespace palimpsest::btree {

class ValueCopy {
 public:
  /// For values of trees with pages of this size.
  explicit ValueCopy(std::uint32_t page_size) noexcept : small_(page_size) {}
  ValueCopy(const ValueCopy&) = delete;
  ValueCopy& operator=(const ValueCopy&) = delete;
  ~ValueCopy() = default;

  [[nodiscard]] ByteView view() const noexcept { return is_large_ ? large_ : small_.view(); }

 private:
  friend class BTree;

  ValueBuffer small_;  ///< the value as it lies in its leaf; of a large one, its descriptor
  std::string large_;
  bool is_large_ = false;  ///< the value is in large_
};

}  // namespace palimpsest::btree
