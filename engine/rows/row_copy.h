// Memory for one row of any length, on the stack: only a row that no page holds is allocated.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "btree/key_bytes.h"
#include "btree/value_buffer.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {

/// No value that lies in a leaf is longer.
inline constexpr std::size_t kRowInLeafBytesMax = btree::record_bytes_max(buffer::kPageSizeMax);

class RowCopy {
 public:
  RowCopy() noexcept {}  // NOLINT(modernize-use-equals-default): leaves the memory uninitialised
  RowCopy(const RowCopy&) = delete;
  RowCopy& operator=(const RowCopy&) = delete;

  void assign(ByteView row) {
    if (row.size() <= kRowInLeafBytesMax) [[likely]] {
      small_.assign_clamped(row);
      view_ = small_.view();
    } else {
      assign_large(row);
    }
  }
  [[nodiscard]] ByteView view() const noexcept { return view_; }

 private:
  void assign_large(ByteView row);

  btree::ValueBuffer small_;
  std::string large_;
  ByteView view_;
};

}  // namespace palimpsest::engine
