// Frames that hold pages no swip names: blocks of large values that were read or written lately.
//
// Such a page is written before anything refers to it and never changes, so a frame's copy of it is
// as good as the file. When the page is freed and its id is used again, the cached copy is stale: a
// reader must tell from the bytes whether this is the page it means. Blocks share the frames with
// the pages of trees; the same clock hand visits and evicts both, so each gets frames in proportion
// to its use. A block has no parent: to evict it, only the slot that names its frame has to be
// cleared.
//
// Lookup: by page id in a hash table of buckets of slots, two cache lines a bucket. A slot names a
// page and its frame. Where a bucket is full (4 of 1000 when all frames hold blocks) the block is
// not cached.
//
// Invariants: (1) a frame in state `block` is named by exactly one slot, that of its page id; frame
//                 state and slot are set, and cleared, in one step under the frame's exclusive
//                 latch.
//             (2) bytes, page id and state of such a frame change only under that latch, which
//                 raises its version: a reader that found a slot, saw the state and the page id,
//                 and validates, has read bytes of that page, whole.
//             (3) a block is clean: it can be evicted at any time.
//             (4) the last few free frames are left to pages of trees: their readers cannot do
//                 without a frame.
// Two readers that miss the same page may both cache it; one of the two frames grows cold.
// Latching: frames are latched by trying, one at a time. The exception is a frame being filled,
//           which no other thread can want; its owner waits for the page's I/O and for nothing
//           else.
// Thread-safety: all functions, from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/reserved_memory.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "buffer/page_guard.h"

namespace palimpsest::buffer {

class BlockCache {
 public:
  class Filling;

  /// Memory of the slots, for each frame of the pool; resident once blocks are cached.
  static constexpr std::uint64_t kBytesPerFrame = 16;

  /// Both belong to one pool and outlive the cache. Throws std::bad_alloc.
  BlockCache(FrameTable& frames, FreeFrames& free_frames);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// Looks for a cached copy of `page`. Calls take(const std::byte* page) on each candidate; take
  /// returns whether the bytes are the page that is meant. The bytes may be torn: take bounds what
  /// it reads, and its result counts only if read() returns true. take may be called several times.
  template <class Take>
  [[nodiscard]] bool read(PageId page, Take&& take) const noexcept;

  /// A frame to be filled with `page`; has_memory() is false if no frame can be spared.
  [[nodiscard]] Filling begin(PageId page);

  /// Called when a page was freed: evicts its cached copy, unless a thread is reading it.
  void forget(PageId page) noexcept;

  /// Frees a frame that holds a block and is cool; false if it does not, is not, or is in use.
  [[nodiscard]] bool try_evict(FrameIndex frame);

 private:
  /// The low half of a page id above a frame's index plus 1; kEmptySlot is an empty slot.
  using Place = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kEmptySlot = 0;
  static constexpr std::size_t kPlaces = 16;
  struct alignas(128) Bucket {
    std::array<Place, kPlaces> places;
  };
  static_assert(sizeof(Bucket) == 128 && kBytesPerFrame * kPlaces / 2 == sizeof(Bucket));

  [[nodiscard]] static std::uint64_t place_of(PageId page, FrameIndex frame) noexcept {
    return raw(page) << 32 | (raw(frame) + std::uint64_t{1});
  }
  [[nodiscard]] static bool names(std::uint64_t place, PageId page) noexcept {
    return place != kEmptySlot && place >> 32 == (raw(page) & UINT32_MAX);
  }
  [[nodiscard]] static FrameIndex frame_of(std::uint64_t place) noexcept {
    return FrameIndex{static_cast<std::uint32_t>(place) - 1};
  }
  [[nodiscard]] Bucket& bucket_of(PageId page) const noexcept;

  [[nodiscard]] bool keep(FrameIndex frame, PageId page) noexcept;
  void give_up(FrameIndex frame) noexcept;
  void evict(FrameIndex frame) noexcept;

  FrameTable& frames_;
  FreeFrames& free_frames_;
  const std::size_t bucket_count_;
  ReservedMemory memory_;
  std::span<Bucket> buckets_;
};

/// A frame that is private to its owner until keep(). The owner may wait for I/O only.
class BlockCache::Filling {
 public:
  Filling() = default;
  Filling(Filling&& other) noexcept;
  Filling& operator=(Filling&&) = delete;
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  /// Frees the frame unless it was kept.
  ~Filling();

  [[nodiscard]] bool has_memory() const noexcept { return cache_ != nullptr; }
  /// Page size, aligned to it.
  [[nodiscard]] MutableBytes memory() const noexcept { return cache_->frames_.page_bytes(frame_); }

  /// The memory holds the page as in the file: from now on readers find it. Call at most once.
  void keep() noexcept;
  /// As keep(), after copying these bytes into the memory. Does nothing without memory.
  void keep_copy(ConstBytes page) noexcept;

 private:
  friend class BlockCache;
  Filling(BlockCache& cache, FrameIndex frame, PageId page) noexcept
      : cache_(&cache), frame_(frame), page_(page) {}

  BlockCache* cache_ = nullptr;  ///< null: no frame
  FrameIndex frame_ = kNoFrame;
  PageId page_ = kNoPage;
};

template <class Take>
bool BlockCache::read(PageId page, Take&& take) const noexcept {
  for (const Place& candidate : bucket_of(page).places) {
    const std::uint64_t place = candidate.load(std::memory_order_acquire);
    if (!names(place, page)) {
      continue;
    }
    Frame& frame = frames_[frame_of(place)];
    const auto guard = OptimisticPage::without_waiting(frame, frames_.page(frame_of(place)));
    if (!guard || frame.state.load(std::memory_order_acquire) != FrameState::block ||
        frame.page_id.load(std::memory_order_relaxed) != page) {
      continue;
    }
    const auto taken = guard->read(take);
    if (taken && *taken) {
      frame.touch();
      return true;
    }
  }
  return false;
}

}  // namespace palimpsest::buffer
