// Pages that redo could not bring up to date, for a caller that goes on without them.
//
// What lies in their places is damaged, or older than what the log says, and must not be read as if
// it were the database's.
// Thread-safety: all functions, from any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>

#include "base/ids.h"

namespace palimpsest::engine {

class LostPages {
 public:
  void lose(PageId page) {
    const std::lock_guard lock(mutex_);
    pages_.insert(page);
  }
  /// A later record has given the page all of its content anew.
  void find_again(PageId page) {
    const std::lock_guard lock(mutex_);
    pages_.erase(page);
  }
  [[nodiscard]] bool contains(PageId page) const {
    const std::lock_guard lock(mutex_);
    return pages_.contains(page);
  }
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return pages_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::set<PageId> pages_;  ///< protected by mutex_
};

}  // namespace palimpsest::engine
