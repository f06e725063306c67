// Brings evicted pages back: takes a frame, reads, verifies, and attaches the page to its parent.
//
// The steps of one fault, each argued against what may happen in between:
//  1. The thread holds no latch while it waits. The caller has an optimistic parent at version v
//     and a swip holding page id p at an offset of it.
//  2. A free frame is latched exclusively and entered in the fault table as loading p. If p has an
//     entry, the caller waits for that load or attaches its result.
//  3. Only now is the swip read again and v validated. Still p: from here on until the entry goes,
//     no other thread can swizzle p (fault table's invariant), and since a page is evicted only
//     when it is clean and has no write in flight, the disk holds its newest image. Not p: the
//     entry is withdrawn, nothing was read. (Without the second look, a thread that slept between
//     reading the swip and inserting would load an image that has since been changed in memory.)
//     What is left of the page's attachment, if it was absorbed, is made an orphan again: that
//     needs memory, and so may fail (orphan_registry.h).
//  4. The parent is released, the page read and verified.
//  5. If the parent still has version v and is free, it is latched, the swip set, and then the
//     entry removed. Swizzling changes nothing an optimistic reader relies on: the parent's version
//     stays. The page's attachment, if it has one, is in place before the swip is set, so that no
//     thread reads the page without it. Otherwise the frame is marked ready, and the next thread
//     that meets the swip attaches it in the same way (attach_ready): it claims the page, and gives
//     it back if another thread holds the frame, because it must not wait while it holds the
//     parent. The swip may have moved to another page by a split in between; it still holds p,
//     since only a resident page can be freed.
// Since the parent's version stays, step 3 of another thread cannot tell by it that the page has
// been attached between its look at the swip and its validation; the order of step 5 has to ensure
// that. A thread that can enter p has found no entry, so the one before was removed, so the swip
// was set (the shard's mutex orders them): its look at the swip finds the frame, or p again if the
// page was evicted since, which raised the version. If step 5 removed the entry first, the look
// could come in between, and p would be loaded a second time, over the frame that has its newest
// state.
//
// Latching: fault() and the batch functions are called with no latch held but the parent's
//           optimistic guard, which they release before they wait. A loading frame is latched
//           exclusively by its loader; only threads that want that page, or did, wait for it. In
//           step 5 the loader only tries the parent; attach_ready has the parent, and only tries
//           the frame.
// Failure: Error corruption or io_error, std::bad_alloc; then the frame is free again and the entry
//          gone, so that the next reader tries anew and gets its own error.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer/fault_table.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "buffer/orphan_registry.h"
#include "buffer/page_file.h"
#include "buffer/page_guard.h"
#include "buffer/page_kinds.h"
#include "buffer/swip.h"

namespace palimpsest::buffer {

class PageLoader {
 public:
  PageLoader(FrameTable& frames, FreeFrames& free_frames, OrphanRegistry& orphans, PageFile& file,
             const PageKinds& kinds)
      : frames_(frames),
        free_frames_(free_frames),
        orphans_(orphans),
        file_(file),
        kinds_(kinds),
        table_(frames) {}

  enum class Outcome : std::uint8_t {
    retry = 1,  ///< descend again: the page is there, or was, or the parent has changed
    no_frame,   ///< a frame must be freed first
  };

  /// Makes the page of an evicted swip resident, or helps towards it. Releases `parent`.
  [[nodiscard]] Outcome fault(OptimisticPage& parent, SwipRef child);

  /// Faults in flight together: collected with begin(), done by finish().
  struct Load {
    FrameIndex frame;
    PageId page;
    Frame* parent;
    std::uint64_t parent_version;
    std::uint32_t offset;
  };

  /// The most loads that may be begun together.
  static constexpr std::size_t kLoadsMax = 64;

  /// Starts a load unless the page is already under way, the parent has changed, or no frame is
  /// free. Waits for nothing. A caller with loads begun must not wait for a page latch before
  /// finish(): another thread may be waiting for its frames.
  [[nodiscard]] bool begin(const OptimisticPage& parent, SwipRef child, std::vector<Load>& loads);

  /// Reads all pages begun in one batch and attaches them. Skips a page that cannot be read: the
  /// thread that needs it will get the error.
  void finish(std::vector<Load>& loads) noexcept;

  /// Frees a frame that was loaded but never attached; false if it is not such a frame any more.
  [[nodiscard]] bool drop_ready(FrameIndex frame);

 private:
  [[nodiscard]] bool enter(const OptimisticPage& parent, SwipRef child, FrameIndex frame);
  void attach_ready(OptimisticPage parent, SwipRef child);
  void attach(const Load& load);
  void link(ExclusivePage parent, const Load& load);
  void verify(FrameIndex frame, PageId page);
  void check_edge(ConstBytes parent, std::uint32_t swip_offset, FrameIndex frame,
                  PageId page) const;
  void become_resident(FrameIndex frame, PageId page, FrameIndex parent) noexcept;
  void withdraw(const Load& load) noexcept;
  void release_unused(FrameIndex frame) noexcept;

  FrameTable& frames_;
  FreeFrames& free_frames_;
  OrphanRegistry& orphans_;
  PageFile& file_;
  const PageKinds& kinds_;
  FaultTable table_;
};

}  // namespace palimpsest::buffer
