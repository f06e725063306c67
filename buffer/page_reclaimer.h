// Frees frames: visits pages one after the other, gives those in use further chances, writes dirty
// pages and evicts clean ones.
//
// A visit marks a page *cool*; a thread that uses the page clears the mark. A visit that finds the
// page used since the last one makes it hotter by one, up to a bound; a visit that does not makes
// it cooler by one. A page that is cool and has no heat left is evicted. This is a clock with
// counters ("Sequentiality and Prefetching in Database Systems", Smith 1978, where each use counts;
// here users write nothing but the mark that they clear). The use that brought a page in does not
// count, so a scan does not drive out pages that are used more often than once. The hand goes round
// the frames, and where it meets a parent it visits all children, so that one latch and one look at
// its swips serve many. Decision 023 says why in order and not at random, as LeanStore does, and
// why counters.
//
// Invariants: (1) a page leaves its frame only clean and with no write in flight: the disk holds
//                 its newest image.
//             (2) a page with swizzled children is not evicted; swips on disk name pages, never
//                 frames.
//             (3) eviction holds the exclusive latches of parent and child. The parent's version is
//                 raised: a reader that took the frame from its swip before fails to validate. The
//                 child's is raised too, for readers that remember the frame itself (last leaves; a
//                 scan its leaf's parent).
//             (4) an image is copied under the page's shared latch; `dirty` is cleared and
//                 `writing` set before that latch is released: a change is either in the copy or
//                 sets `dirty` afterwards. `writing` ends when the image is readable in place, or,
//                 failed, in one step with setting `dirty` again, with the old since.
//             (5) a page's attachment goes to the orphan registry in the same latched step in which
//                 the page leaves its frame, before the swip names the page id; a page that is
//                 freed has none.
//             (6) a page freed while `writing` keeps its frame and its id until the write has ended
//                 (doomed): no two writes of one page are ever in flight.
//             (7) with a log, the page header of a page that is freed carries the GSN of the
//                 freeing record: its id is not reused before that is durable.
// Latching: page latches are tried, parent before child, so a round seldom waits for a reader or
//           writer. Only a round that has freed nothing waits for one parent's latch, holding no
//           other, so that rounds do not keep each other from it for ever. No latch is held while
//           waiting for the page writer's mutex. Any number of rounds may run at once, by the page
//           provider and by threads that need a frame.
// Failure: a failed write leaves the pages dirty and throws; nothing is lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "palimpsest/function_ref.h"

#include "buffer/block_cache.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "buffer/orphan_registry.h"
#include "buffer/page_age.h"
#include "buffer/page_guard.h"
#include "buffer/page_kinds.h"
#include "buffer/page_loader.h"
#include "buffer/page_writer.h"
#include "buffer/space_map.h"

namespace palimpsest::buffer {

class PageReclaimer {
 public:
  PageReclaimer(FrameTable& frames, FreeFrames& free_frames, BlockCache& blocks,
                OrphanRegistry& orphans, PageLoader& loader, PageWriter& writer, SpaceMap& space,
                const PageKinds& kinds)
      : frames_(frames),
        free_frames_(free_frames),
        blocks_(blocks),
        orphans_(orphans),
        loader_(loader),
        writer_(writer),
        space_(space),
        kinds_(kinds) {}
  PageReclaimer(const PageReclaimer&) = delete;
  PageReclaimer& operator=(const PageReclaimer&) = delete;
  /// Destroys all attachments. No thread uses a page any more.
  ~PageReclaimer();

  /// One bounded round: tries to free `goal` frames and returns how many it freed. May write one
  /// batch. Throws what PageWriter throws if it could free none.
  std::size_t reclaim(std::size_t goal);
  /// Whether dirty pages can become clean: neither file nor log has failed.
  [[nodiscard]] bool can_write() const noexcept { return !writer_.failed(); }

  /// Whether all frames have been visited, or nearly. After billions of visits the hand's number
  /// wraps, and the answer is no for one more round.
  [[nodiscard]] bool has_gone_round() const noexcept {
    return hand_.load(std::memory_order_relaxed) >= frames_.count();
  }
  /// Visits a few pages and evicts none, so that not all pages count as used when the first one has
  /// to go. Tries latches only.
  void visit_ahead();

  /// Writes these pages, except those that are clean or gone by the time it comes to them. Waits
  /// for their latches and for the page writer; the caller holds none.
  void write(std::span<const FrameIndex> frames);

  /// All resident pages that a checkpoint must write, in page order: dirty ones and ones being
  /// written (only those that `pages` selects), and every page latched exclusively, since it may be
  /// about to become dirty. See page_age.h.
  [[nodiscard]] std::vector<FrameIndex> unwritten_frames(const PagesByAge& pages) const;

  /// Frees frame and page id of a page that the caller has taken out of its tree (7).
  void free_page(ExclusivePage page) noexcept;

  /// Prunes the attachments of the pages in the next `frames` frames, passing over latched
  /// pages, until is_enough(), which is called before each page that has an
  /// attachment. The next call continues there. Latches and prunes a few pages at a time, even if
  /// it is enough after the first. Returns how many pages have lost their attachment.
  std::uint32_t prune_attached(std::uint32_t frames, FunctionRef<bool()> is_enough) noexcept;

 private:
  enum class Patience : bool { try_only, wait };

  struct Round {
    std::size_t goal = 0;  // frames to free
    std::size_t most = 0;  // upper bound: the last parent's cold children are all taken, up to this
    std::size_t dirty_goal = 0;  // dirty pages worth a batch
    std::size_t freed = 0;
    bool takes_dirty = true;             // whether dirty pages can be written
    FrameIndex contended = kNoFrame;     // a parent whose latch was not to be had
    std::vector<FrameIndex> dirty;       // cool, to be written
    std::vector<std::uint32_t> victims;  // scratch: offsets of clean cool children
  };

  [[nodiscard]] std::uint32_t prune_together(std::span<const FrameIndex> frames) noexcept;
  [[nodiscard]] bool try_hold_attached(FrameIndex frame) noexcept;
  void move_hand(Round& round);
  void visit_next(Round& round);
  void visit(FrameIndex frame, Round& round);
  void visit_block(FrameIndex frame, Round& round);
  void visit_children(FrameIndex parent, Round& round);
  void find_cool_children(FrameIndex parent, Round& round);
  void evict_in_turn(Round& round);
  void judge_child(FrameIndex child, std::uint32_t swip_offset, Round& round);
  [[nodiscard]] bool evict_children(FrameIndex parent, Round& round);
  [[nodiscard]] bool try_evict(FrameIndex parent, std::uint32_t swip_offset);
  [[nodiscard]] bool has_swizzled_child(FrameIndex frame) const;
  void write_and_evict(Round& round);
  void evict_written(std::span<const FrameIndex> frames, Round& round);
  void find_victims(FrameIndex parent, std::span<const std::pair<FrameIndex, FrameIndex>> wanted,
                    Round& round);
  [[nodiscard]] std::vector<FrameIndex> write_batch(std::span<const FrameIndex>& frames,
                                                    Patience patience);
  [[nodiscard]] bool copy_image(FrameIndex frame, std::byte* into, Patience patience, PageId& page);
  void make_writable(FrameIndex frame, std::byte* copy) const;
  void end_write(FrameIndex frame, bool written, PageAge copied) noexcept;
  void complete_free(FrameIndex frame) noexcept;
  [[nodiscard]] bool is_unwritten(FrameIndex index, const PagesByAge& pages) const;

  FrameTable& frames_;
  FreeFrames& free_frames_;
  BlockCache& blocks_;
  OrphanRegistry& orphans_;
  PageLoader& loader_;
  PageWriter& writer_;
  SpaceMap& space_;
  const PageKinds& kinds_;
  std::atomic<std::uint32_t> hand_{0};        ///< the next frame to visit, modulo their count
  std::atomic<std::uint32_t> prune_next_{0};  ///< frame
};

}  // namespace palimpsest::buffer
