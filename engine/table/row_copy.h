// Memory for one row of any length, on the stack (only a row too large for a page is allocated),
// and for several rows, on the heap.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "btree/node/key_bytes.h"
#include "btree/node/value_buffer.h"
#include "buffer/page_header.h"

namespace palimpsest::engine {

/// Upper bound of values stored in a leaf.
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

/// Copies of several rows, with the numbers of their keys. Reusable after clear().
class RowCopies {
 public:
  void clear() noexcept {
    bytes_.clear();
    rows_.clear();
  }
  void add(std::size_t number, ByteView row) {
    bytes_.append(row);
    rows_.push_back({.number = number, .end = bytes_.size()});
  }
  /// Calls use(number, row) in the order of add().
  template <class Use>
  void for_each(Use&& use) const {
    for (std::size_t begin = 0; const Copied& row : rows_) {
      use(row.number, ByteView(bytes_).substr(begin, row.end - begin));
      begin = row.end;
    }
  }

 private:
  struct Copied {
    std::size_t number;
    std::size_t end;  ///< in bytes_
  };

  std::string bytes_;
  std::vector<Copied> rows_;
};

}  // namespace palimpsest::engine
