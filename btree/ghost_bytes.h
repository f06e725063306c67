// About how much has been removed of a tree that is still there as ghosts: for whoever decides
// whether walking through its leaves is worth it.
//
// A hint. Counted is what a removal could not purge in passing, every so many ghosts of a leaf, and
// each large value; nothing is taken off when others purge it later.
// Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace palimpsest::btree {

class GhostBytes {
 public:
  void add(std::uint64_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }
  /// Begins to count anew if there are so many.
  [[nodiscard]] bool take(std::uint64_t bytes_min) noexcept {
    if (bytes() < bytes_min) {
      return false;
    }
    bytes_.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace palimpsest::btree
