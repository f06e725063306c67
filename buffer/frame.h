// A frame: the in-memory slot that holds a page. This is its header, one cache line; the page's
// bytes lie in the pool's page memory at the same index (frame_table.h).
//
// States and the functions that make the transitions:
//
//              take (FreeFrames)        load ok (PageLoader)       attach (PageLoader)
//     free ------------------> loading -----------------> ready ---------------------> resident
//      ^  \______________________________________________________________________________^
//      |                         new page (BufferPool::new_page)                         |
//      +---------- load failed ---+----- reclaimed, never attached ---+---- evict, free -+
//      +---------- load failed ---+-- kept, later evicted: block (BlockCache), in no tree
//
// What protects what:
//  - `latch` protects the page's bytes, `page_id` and `type` (written under the exclusive mode).
//  - `state`: a loading or ready frame is named by exactly one entry of the fault table; the
//    entry's shard mutex protects `state` while the frame is there. A ready frame is loading again
//    while it is attached; its entry goes when the swip names it. A resident frame is named by
//    exactly one swip (or it is a page of root slots), and leaves that state only under its
//    exclusive latch.
//  - A frame with a block of a large value is named by one slot of the BlockCache, and enters and
//    leaves that state under its exclusive latch.
//  - `parent` of a resident frame is the frame that holds its swip. It changes only while the
//    exclusive latches of the old and the new parent are held, so a thread that latches a frame and
//    finds the child's swip in it has the parent. Read without a latch it is a hint.
//  - `flags` is atomic by itself; FrameFlag says which thread may set and clear each. The upper
//    bits say since which age the page is dirty or being written, and change in the same steps
//    (page_age.h).
//  - `cool` is a hint that any reader may clear. `heat` belongs to the thread that visits the page
//    to find victims, under the parent's latch, shared or exclusive: of two visitors' counts one
//    may be lost.
//  - `attached` is protected by `latch` as the page's bytes are: changed under the exclusive mode
//    (or while the frame is loading or ready, by the one thread that makes the page resident). Read
//    without a latch it is an address to be prefetched, and nothing else.
//  - `youngest` is a copy of `attached->youngest()`, and 0 without an attachment: the two change in
//    one latched step, hang(). A thread that reads the page optimistically may read it, validated
//    as the page's bytes are. It cannot read the attachment itself: that may be gone by the time
//    its address has been read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/hybrid_latch.h"
#include "base/ids.h"
#include "buffer/page_age.h"
#include "buffer/page_attachment.h"
#include "buffer/page_header.h"

namespace palimpsest::buffer {

enum class FrameState : std::uint8_t { free = 1, loading, ready, resident, block };

/// Bits of Frame::flags.
struct FrameFlag {
  /// The page differs from its newest written image. Set under the exclusive latch, cleared by the
  /// page writer under the shared latch (so no change is under way), at the moment it copies the
  /// page.
  static constexpr std::uint32_t dirty = 1;
  /// A copy of the page is being written. At most one at a time: set together with clearing
  /// `dirty`, cleared when the write has completed. The page is not evicted and its id not reused
  /// meanwhile.
  static constexpr std::uint32_t writing = 2;
  /// The page was freed while `writing`: the thread that clears `writing` completes the freeing.
  static constexpr std::uint32_t doomed = 4;

  static constexpr std::uint32_t kAll = dirty | writing | doomed;
  /// The bits from here on are a PageAge; 0 on a page that is neither dirty nor being written.
  static constexpr unsigned kSinceShift = 4;
  [[nodiscard]] static constexpr std::uint32_t since(PageAge age) noexcept {
    return age.number() << kSinceShift;
  }
  [[nodiscard]] static constexpr PageAge since_of(std::uint32_t flags) noexcept {
    return PageAge(flags >> kSinceShift);
  }
};
static_assert(FrameFlag::kSinceShift + PageAge::kBits == 32);

struct alignas(64) Frame {
  static constexpr std::int8_t kHeatNew = -1;
  static constexpr std::int8_t kHeatMax = 7;

  /// `age`: of the pool; it outlives the frame.
  explicit Frame(const std::atomic<PageAge>& age) noexcept : pool_age(&age) {}

  HybridLatch latch;
  std::atomic<PageId> page_id{kNoPage};
  std::atomic<FrameIndex> parent{kNoFrame};
  std::atomic<std::uint32_t> flags{0};
  std::atomic<FrameState> state{FrameState::free};
  std::atomic<PageType> type{};
  std::atomic<bool> cool{false};
  /// For contention splits: how often a writer of this page had to wait for its latch at another
  /// location of the page than the writer before (saturating), and that location. Written under the
  /// exclusive latch.
  std::atomic<std::uint8_t> contention{0};
  std::atomic<std::uint16_t> contended_place{0};
  /// How many visits in a row must find the page unused before one finds it cold. Below 0: the use
  /// that brought it in does not count.
  std::atomic<std::int8_t> heat{kHeatNew};
  /// The page's attachment, or null (page_attachment.h).
  std::atomic<Attached*> attached{nullptr};
  /// attached->youngest(), or 0.
  std::atomic<Gsn> youngest{Gsn{0}};
  const std::atomic<PageAge>* const pool_age;

  /// Sets the attachment (null: none), or refreshes `youngest` from the present one.
  void hang(Attached* what) noexcept {
    attached.store(what, std::memory_order_relaxed);
    youngest.store(what == nullptr ? Gsn{0} : what->youngest(), std::memory_order_relaxed);
  }

  /// Called when the frame gets another page, of which nothing is known.
  void begin_use() noexcept {
    cool.store(false, std::memory_order_relaxed);
    heat.store(kHeatNew, std::memory_order_relaxed);
    contention.store(0, std::memory_order_relaxed);
  }

  /// One visit of a thread that looks for victims. Returns whether the page may be evicted. The
  /// page gains one heat for each visit that finds it used since the visit before.
  [[nodiscard]] bool is_cold_at_visit() noexcept {
    const std::int8_t before = heat.load(std::memory_order_relaxed);
    if (!cool.load(std::memory_order_relaxed)) {
      cool.store(true, std::memory_order_relaxed);
      if (before < kHeatMax) {
        heat.store(static_cast<std::int8_t>(before + 1), std::memory_order_relaxed);
      }
      return false;
    }
    if (before > 0) {
      heat.store(static_cast<std::int8_t>(before - 1), std::memory_order_relaxed);
      return false;
    }
    return true;
  }

  /// Marks the page as used: clears the mark of the last visit.
  void touch() noexcept {
    if (cool.load(std::memory_order_relaxed)) {
      cool.store(false, std::memory_order_relaxed);
    }
  }

  /// Counts a contended write at `place` of the page. The caller holds the exclusive latch. A
  /// single hot location does not count: splitting the page would not help it.
  void count_contention(std::uint16_t place) noexcept {
    const std::uint8_t count = contention.load(std::memory_order_relaxed);
    if (count != UINT8_MAX && contended_place.load(std::memory_order_relaxed) != place) {
      contention.store(static_cast<std::uint8_t>(count + 1), std::memory_order_relaxed);
      contended_place.store(place, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] bool has(std::uint32_t flag) const noexcept {
    return (flags.load(std::memory_order_acquire) & flag) != 0;
  }

  /// The caller holds the exclusive latch. A page with a write in flight keeps its age: the
  /// write may fail (page_age.h).
  void mark_dirty() noexcept {
    std::uint32_t before = flags.load(std::memory_order_acquire);
    std::uint32_t after = 0;
    do {
      if ((before & FrameFlag::dirty) != 0) {
        return;
      }
      after = before | FrameFlag::dirty;
      if ((before & FrameFlag::writing) == 0) {
        after |= FrameFlag::since(pool_age->load(std::memory_order_relaxed));
      }
    } while (!flags.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
  }

  /// Ends the write of a copy that was made in the age `copied` or a later one. After a failed
  /// write the page is as dirty as it was. Returns the flags before.
  std::uint32_t end_write(bool written, PageAge copied) noexcept {
    std::uint32_t before = flags.load(std::memory_order_acquire);
    std::uint32_t after = 0;
    do {
      after = before & ~FrameFlag::writing;
      if (!written) {
        after |= FrameFlag::dirty;
      } else if ((before & FrameFlag::dirty) != 0) {
        after = (after & FrameFlag::kAll) | FrameFlag::since(copied);
      } else {
        after &= FrameFlag::kAll;
      }
    } while (!flags.compare_exchange_weak(before, after, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    return before;
  }
};

static_assert(sizeof(Frame) == 64);

}  // namespace palimpsest::buffer
