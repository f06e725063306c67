// Frames and page ids set aside for new pages before any latch is taken.
//
// An operation that changes a tree's structure must not wait for frames or disk space under a
// latch. It therefore reserves for its worst case first (BufferPool::reserve); this object gives
// back the unused rest when it ends.
// Thread-safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace palimpsest::buffer {

class BufferPool;

class PageReservation {
 public:
  /// For BufferPool::reserve().
  PageReservation(BufferPool& pool, std::uint32_t pages) : pool_(&pool), reserved_(pages) {}
  PageReservation(PageReservation&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        reserved_(other.reserved_),
        frames_(std::move(other.frames_)),
        pages_(std::move(other.pages_)) {}
  PageReservation& operator=(PageReservation&&) = delete;
  ~PageReservation();

  /// How many new pages are still covered.
  [[nodiscard]] std::size_t count() const noexcept { return pages_.size(); }
  /// The id of the page that is made next, if one is covered.
  [[nodiscard]] PageId next_page() const noexcept { return pages_.back(); }

 private:
  friend class BufferPool;

  BufferPool* pool_;
  std::uint32_t reserved_;  ///< as counted by the pool, used or not
  std::vector<FrameIndex> frames_;
  std::vector<PageId> pages_;
};

}  // namespace palimpsest::buffer
