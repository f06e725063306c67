// Reclaims space before a change fails with no_space. Implemented by the layer that knows all
// trees.
//
// Latching: reclaim() is called with no latch held; it may do I/O and wait for the log.
// Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace palimpsest::btree {

class WriteContext;

class SpaceReclaimer {
 public:
  virtual ~SpaceReclaimer() = default;
  SpaceReclaimer(const SpaceReclaimer&) = delete;
  SpaceReclaimer& operator=(const SpaceReclaimer&) = delete;

  /// `pages` pages could not be allocated for a change by `by`. Frees space that is not needed any
  /// more: that many pages, or fewer. False if there was nothing to free. Throws
  /// transaction_too_old, failed, bad_alloc.
  [[nodiscard]] virtual bool reclaim(const WriteContext& by, std::uint64_t pages) = 0;

  /// A part of a sentence: the space retained for running transactions, which may become free when
  /// they end. Empty if there is none.
  [[nodiscard]] virtual std::string held_back() const = 0;

  /// Notes that records were removed, so that space may become reclaimable later.
  void note_removal() noexcept {
    if (is_resting_.load(std::memory_order_relaxed)) [[unlikely]] {
      is_resting_.store(false, std::memory_order_relaxed);
    }
  }

 protected:
  SpaceReclaimer() = default;

  /// A search before the next removal would find nothing.
  void rest() noexcept { is_resting_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_resting() const noexcept {
    return is_resting_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> is_resting_{false};
};

}  // namespace palimpsest::btree
