// Memory for copies of several rows, on the heap.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace palimpsest::engine {

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
