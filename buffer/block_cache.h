// Pages that no swip names, kept in frames: blocks of large values that were read or written
// lately.
//
// Such a page is written before anybody can name it and never changes, so what a frame holds of it
// is as good as the file. When it is freed and its id is used again, what is kept is stale; whoever
// asks for a page has to know from its bytes whether it is the one that he means. Blocks share the
// frames with the pages of trees, and are visited and evicted in the same turn: whoever uses more
// gets more. They need no parent: a place that names their frame is all there is to be taken back.
//
// How they are found: by page id in buckets of places, two cache lines each. A place names a page
// and its frame. Where a bucket is full (4 of 1000 when all frames hold blocks) a block is not
// kept.
//
// Invariants: (1) a frame in state `block` is named by exactly one place, that of its page id; both
//                 come and go in one step under the frame's exclusive latch.
//             (2) bytes, page id and state of such a frame change only under that latch, which
//                 raises its version: a read that found a place, saw the state and the page id, and
//                 validates, has read bytes of that page, whole.
//             (3) a block is clean: it can be evicted at any time.
//             (4) the last free frames are left to those who cannot do without.
// Two readers that miss the same page may both keep it; one of the two frames grows cold.
// Latching: frames are latched by trying, one at a time, but for a frame that is being filled,
//           which nobody else can want; nobody waits for anything while he fills one but for its
//           page.
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

  /// Memory that places take, for each frame of the pool; resident once blocks are kept.
  static constexpr std::uint64_t kBytesPerFrame = 16;

  /// Both belong to one pool and outlive the cache. Throws std::bad_alloc.
  BlockCache(FrameTable& frames, FreeFrames& free_frames);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /// take(const std::byte* page), which returns whether this is the page that is meant, is called
  /// with what is kept under this id. The bytes may be torn: it bounds what it reads, and what it
  /// has taken counts only if true is returned. May be called several times.
  template <class Take>
  [[nodiscard]] bool read(PageId page, Take&& take) const noexcept;

  /// A frame to be filled with a page; without memory if none can be spared.
  [[nodiscard]] Filling begin(PageId page);

  /// A page was freed: what is kept of it is of no use, unless somebody is reading it.
  void forget(PageId page) noexcept;

  /// Frees a frame that is cool and holds a block; false if it is not, or is in use.
  [[nodiscard]] bool try_evict(FrameIndex frame);

 private:
  /// The low half of a page id above a frame's number, its index and 1; kNobody names none.
  using Place = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kNobody = 0;
  static constexpr std::size_t kPlaces = 16;
  struct alignas(128) Bucket {
    std::array<Place, kPlaces> places;
  };
  static_assert(sizeof(Bucket) == 128 && kBytesPerFrame * kPlaces / 2 == sizeof(Bucket));

  [[nodiscard]] static std::uint64_t place_of(PageId page, FrameIndex frame) noexcept {
    return raw(page) << 32 | (raw(frame) + std::uint64_t{1});
  }
  [[nodiscard]] static bool names(std::uint64_t place, PageId page) noexcept {
    return place != kNobody && place >> 32 == (raw(page) & UINT32_MAX);
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

/// A frame that is private until it is kept. Its owner may wait for I/O, and for nothing else.
class BlockCache::Filling {
 public:
  Filling() = default;
  Filling(Filling&& other) noexcept;
  Filling& operator=(Filling&&) = delete;
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  /// Gives the frame back if it was not kept.
  ~Filling();

  [[nodiscard]] bool has_memory() const noexcept { return cache_ != nullptr; }
  /// Page size, aligned to it.
  [[nodiscard]] MutableBytes memory() const noexcept { return cache_->frames_.page_bytes(frame_); }

  /// The memory holds the page as it is in the file: others may find it. Call at most once.
  void keep() noexcept;
  /// The same of a copy of these bytes; nothing if there is no memory.
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
