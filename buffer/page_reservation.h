// Frames and page ids set aside for new pages before any latch is taken.
//
// An operation that changes a tree's structure must not wait for frames or disk space under a latch,
// so it reserves for its worst case first (BufferPool::reserve) and what it did not use goes back
// when this object ends.
// Thread-safety: belongs to one thread.
#pragma once

#include <utility>
#include <vector>

#include "base/ids.h"

namespace palimpsest::buffer {

class BufferPool;

class PageReservation {
 public:
  explicit PageReservation(BufferPool& pool) : pool_(&pool) {}
  PageReservation(PageReservation&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)),
        frames_(std::move(other.frames_)),
        pages_(std::move(other.pages_)) {}
  PageReservation& operator=(PageReservation&&) = delete;
  ~PageReservation();

  /// How many new pages are still covered.
  [[nodiscard]] std::size_t count() const noexcept { return pages_.size(); }

 private:
  friend class BufferPool;

  BufferPool* pool_;
  std::vector<FrameIndex> frames_;
  std::vector<PageId> pages_;
};

}  // namespace palimpsest::buffer
