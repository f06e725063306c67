// The pool's memory: one reserved range of pages and one array of frame headers, by frame index.
//
// The memory is never unmapped while the pool lives, so a stale frame index may be read at any
// time; the latch version then rejects what was read. Memory is only reserved here and becomes
// resident as frames are first used; huge pages are requested where the kernel offers them.
// Thread-safety: immutable after construction, except for the age: one thread at a time moves it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/reserved_memory.h"
#include "buffer/frame.h"
#include "buffer/page_age.h"

namespace palimpsest::buffer {

class FrameTable {
 public:
  /// Throws Error out_of_memory if the address range cannot be reserved.
  FrameTable(std::uint32_t frame_count, std::uint32_t page_size_bytes);
  ~FrameTable() = default;
  FrameTable(const FrameTable&) = delete;
  FrameTable& operator=(const FrameTable&) = delete;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t page_size_bytes() const noexcept {
    return std::uint32_t{1} << page_shift_;
  }

  [[nodiscard]] bool contains(FrameIndex index) const noexcept { return raw(index) < count_; }
  [[nodiscard]] Frame& operator[](FrameIndex index) const noexcept {
    PALIMPSEST_DEBUG_CHECK(contains(index), "frame index within the pool");
    return frames_[raw(index)];
  }
  [[nodiscard]] std::byte* page(FrameIndex index) const noexcept {
    return pages_ + (std::size_t{raw(index)} << page_shift_);
  }
  [[nodiscard]] MutableBytes page_bytes(FrameIndex index) const noexcept {
    return {page(index), page_size_bytes()};
  }
  [[nodiscard]] FrameIndex index_of(const Frame& frame) const noexcept {
    return FrameIndex{static_cast<std::uint32_t>(&frame - frames_)};
  }
  /// All page memory, for registration with the storage device.
  [[nodiscard]] MutableBytes memory() const noexcept {
    return {pages_, std::size_t{count_} << page_shift_};
  }

  [[nodiscard]] PageAge age() const noexcept { return age_.load(std::memory_order_relaxed); }
  /// Begins the next age, and returns it.
  PageAge begin_age() noexcept {
    const PageAge next = age().next();
    age_.store(next, std::memory_order_release);
    return next;
  }

 private:
  std::atomic<PageAge> age_{};  ///< first: far from fields that change often
  std::uint32_t count_;
  unsigned page_shift_;
  ReservedMemory reserved_;  ///< the memory of the two below
  std::byte* pages_ = nullptr;
  Frame* frames_ = nullptr;
};

}  // namespace palimpsest::buffer
