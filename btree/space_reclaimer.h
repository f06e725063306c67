// Who is asked for room before a change fails for want of it; implemented by whoever knows all
// trees.
//
// Latching: reclaim() is called with no latch held; it may do I/O and wait for the log.
// Thread-safety: all functions, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace palimpsest::btree {

struct WriteContext;

class SpaceReclaimer {
 public:
  virtual ~SpaceReclaimer() = default;
  SpaceReclaimer(const SpaceReclaimer&) = delete;
  SpaceReclaimer& operator=(const SpaceReclaimer&) = delete;

  /// So many pages could not be had, for a change on behalf of `by`: gives back what nobody needs
  /// any more, as many or some. False if there was nothing. Throws transaction_too_old, failed,
  /// bad_alloc.
  [[nodiscard]] virtual bool reclaim(const WriteContext& by, std::uint64_t pages) = 0;

  /// What is kept for others, and might be given back when they have ended: a part of a sentence;
  /// empty if there is nothing.
  [[nodiscard]] virtual std::string held_back() const = 0;

  /// Records have been removed: there may be something, by and by.
  void note_removal() noexcept {
    if (is_resting_.load(std::memory_order_relaxed)) [[unlikely]] {
      is_resting_.store(false, std::memory_order_relaxed);
    }
  }

 protected:
  SpaceReclaimer() = default;

  /// Until the next removal there is no use in looking for anything.
  void rest() noexcept { is_resting_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_resting() const noexcept {
    return is_resting_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> is_resting_{false};
};

}  // namespace palimpsest::btree
