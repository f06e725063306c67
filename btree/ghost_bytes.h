// An estimate of the bytes that ghosts occupy in a tree. The space reclaimer uses it to decide
// whether to walk through the tree's leaves.
//
// A hint. Counted are each removed large value and, once for every so many ghosts of a leaf, what a
// removal could not purge at once. Later purges do not decrease it.
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
  /// Resets the count if it has reached `bytes_min`.
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
