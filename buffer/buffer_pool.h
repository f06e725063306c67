// The buffer pool: pages of the page file in a bounded number of frames, reached through swips.
//
// A page is reached from the swip in its parent, which holds its frame if the page is resident (two
// loads and a compare, no hash table; LeanStore, ICDE 2018) and its page id if it is not. `descend`
// turns a parent's guard and a swip into the child's guard, or brings the page in and asks for a
// restart. TreeRoot is the way to the root of a tree (tree_root.h).
//
// Parts: frame_table.h (memory), free_frames.h, fault_table.h and page_loader.h (bringing pages
// in), root_places.h, block_cache.h (pages of no tree), page_reclaimer.h and page_provider.h
// (taking them out), page_guard.h (latch modes as types).
//
// Invariants: (1) a page is in at most one frame (fault_table.h);
//             (2) no global lock is taken to read, load, evict or write a page;
//             (3) memory: frames, their headers and the free list stay within
//                 Options::memory_bytes.
// page_age.h: ages of pages, and what a checkpoint may conclude from the pages it has written.
//
// Latching: functions that may do I/O or wait for frames say so; they are called with no latch
//           held, except that `follow*` releases the parent's optimistic guard before it waits.
// Thread-safety: all functions, from any thread, except construction and destruction.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "palimpsest/error.h"

#include "base/attempt.h"
#include "base/prefetch.h"
#include "buffer/block_cache.h"
#include "buffer/frame_table.h"
#include "buffer/free_frames.h"
#include "buffer/known_frame.h"
#include "buffer/orphan_registry.h"
#include "buffer/page_age.h"
#include "buffer/page_file.h"
#include "buffer/page_guard.h"
#include "buffer/page_kinds.h"
#include "buffer/page_loader.h"
#include "buffer/page_provider.h"
#include "buffer/page_reclaimer.h"
#include "buffer/page_reservation.h"
#include "buffer/page_writer.h"
#include "buffer/root_places.h"
#include "buffer/space_map.h"
#include "buffer/swip.h"
#include "buffer/tree_names.h"

namespace palimpsest::buffer {

struct BufferPoolOptions {
  /// For frames and everything that describes them.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
};

class BufferPool {
 public:
  using Load = PageLoader::Load;

  /// Fewer frames are refused (Error out_of_memory): a split and its helpers need some at once.
  static constexpr std::uint32_t kFramesMin = 32;

  /// The smallest Options::memory_bytes for a page size.
  [[nodiscard]] static std::uint64_t memory_bytes_min(std::uint32_t page_size_bytes) noexcept;

  /// All references outlive the pool. Throws Error out_of_memory if the memory is too small (the
  /// message names the minimum) or cannot be reserved. Without `attachment` pages have no
  /// attachments.
  BufferPool(PageFile& file, PageWriter& writer, SpaceMap& space, const PageKinds& kinds,
             const BufferPoolOptions& options, PageAttachment* attachment = nullptr);
  /// Drops changes that have not been flushed, and all attachments.
  ~BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// From now on errors about pages of trees name the tree by `names` (null: they do not).
  void name_trees(const TreeNames* names) noexcept {
    names_.store(names, std::memory_order_release);
  }
  /// The error to throw on for an error about a page, or a large value, of this tree.
  [[nodiscard]] Error named(const Error& error, TreeId tree) const;

  /// The slots of roots: tree_root.h.
  [[nodiscard]] const RootPlaces& roots() const noexcept { return roots_; }

  // Reading: one step down

  /// Steps from a page to a child. `child` was read from `node` and need not have been validated.
  /// True: `node` is the child, and the edge was validated after the child's version was taken;
  /// nothing else of the child has been read. False: restart. A child that is not resident is
  /// brought in (I/O; `node` is released). Throws io_error, corruption, out_of_memory, and failed
  /// or no_space if a frame can be had only by writing a page that cannot be written.
  [[nodiscard]] bool descend(OptimisticPage& node, SwipRef child) {
    if (child.swip.swizzled() && frames_.contains(child.swip.frame())) [[likely]] {
      prefetch_for_search(frames_, child.swip.frame());
      Frame& frame = frames_[child.swip.frame()];
      OptimisticPage page(frame, frames_.page(child.swip.frame()));
      if (!node.unchanged()) {
        return false;
      }
      frame.touch();
      node = std::move(page);
      return true;
    }
    if (node.unchanged()) {
      bring_in(node, child);
    }
    return false;
  }

  /// Latches a child. Waits for the latch, so the swip must have been validated. `parent` stays.
  [[nodiscard]] Attempt<SharedPage> follow_shared(OptimisticPage& parent, SwipRef child);
  [[nodiscard]] Attempt<ExclusivePage> follow_exclusive(OptimisticPage& parent, SwipRef child);

  /// Steps to a child that is resident and not latched exclusively; restart otherwise. Waits for
  /// nothing and brings nothing in.
  [[nodiscard]] Attempt<OptimisticPage> follow_resident(const OptimisticPage& parent,
                                                        SwipRef child) noexcept;

  /// Prefetches a page that is resident, or its beginning if it is large.
  void prefetch(Swip swip) const noexcept {
    if (swip.swizzled() && frames_.contains(swip.frame())) {
      const std::byte* page = frames_.page(swip.frame());
      palimpsest::prefetch(page, page + std::min(page_size_bytes(), kPrefetchedBytesMax));
    }
  }

  /// The page in a frame that the caller remembers, if its version is still `version`.
  [[nodiscard]] Attempt<OptimisticPage> remembered(FrameIndex frame,
                                                   std::uint64_t version) noexcept {
    return OptimisticPage::at(frames_[frame], frames_.page(frame), version);
  }
  /// As remembered(), latched shared; an empty guard if the latch is not to be had at once.
  [[nodiscard]] SharedPage try_shared(FrameIndex frame, std::uint64_t version) noexcept;
  [[nodiscard]] FrameIndex index_of(const Frame& frame) const noexcept {
    return frames_.index_of(frame);
  }

  // Prefetch: faults that overlap in one thread

  /// Starts to load an evicted child. False if a load is under way, the parent has changed, or no
  /// frame or memory is free. Waits for nothing and throws nothing, so that loads already begun get
  /// finished. Until finish_loads() the caller must not wait for any latch.
  bool begin_load(const OptimisticPage& parent, SwipRef child, std::vector<Load>& loads) noexcept;
  /// Reads all of them in one batch. The pages are then resident or about to be. A page that cannot
  /// be read is skipped; the thread that needs it gets the error. Does I/O; called without latches.
  void finish_loads(std::vector<Load>& loads) noexcept;

  // Pages of no tree: block_cache.h

  [[nodiscard]] BlockCache& blocks() noexcept { return blocks_; }
  /// A frame for such a page, if one can be spared.
  [[nodiscard]] BlockCache::Filling begin_block(PageId page);

  // Changing the structure

  /// Takes frames and page ids for `pages` new pages, so that no thread waits for them under a
  /// latch. May evict, write and grow the file. Throws no_space, io_error, out_of_memory; called
  /// without latches. All reservations together take at most an eighth of the frames (the caller
  /// waits), so that threads with a reservation can still bring pages in.
  [[nodiscard]] PageReservation reserve(std::uint32_t pages);

  /// A new page that nothing refers to yet, exclusively latched. The caller formats it and hangs it
  /// below `parent` by a swip of its frame while it holds `parent` exclusively.
  [[nodiscard]] ExclusivePage new_page(PageReservation& reservation, PageType type,
                                       const ExclusivePage& parent) noexcept;

  /// Latches a resident child of a page that the caller holds exclusively. Waits for the latch.
  [[nodiscard]] ExclusivePage resident_child(const ExclusivePage& parent, Swip swip) noexcept;

  /// Called for a page that took over swips from another one; both are exclusively latched.
  void adopt_children(const ExclusivePage& parent) noexcept;

  /// Called when a page changes its type in place (a root that grows a level).
  void set_type(const ExclusivePage& page, PageType type) noexcept {
    page.frame().type.store(type, std::memory_order_relaxed);
  }

  /// Gives the page, which is not being written, the claimed page id `to`; marks it dirty.
  void rename(ExclusivePage& page, PageId to) noexcept;

  /// Frees a page that no swip names. With a log, its header has the GSN of the freeing record.
  void free_page(ExclusivePage page) noexcept { reclaimer_.free_page(std::move(page)); }

  // The whole pool

  /// Prunes attachments of all orphans and pages, passing over pages in use, until is_enough().
  void prune_attached(FunctionRef<bool()> is_enough) noexcept;
  /// As prune_attached(), for the next `frames` frames only. Returns how many attachments are gone.
  std::uint32_t prune_some_attached(std::uint32_t frames, FunctionRef<bool()> is_enough) noexcept;
  /// Writes every page that is dirty now. Does I/O; throws what PageWriter throws.
  void flush();
  /// flush() in two steps, for a checkpoint in slices: page_age.h says what it may conclude.
  [[nodiscard]] std::vector<FrameIndex> unwritten_frames(
      const PagesByAge& pages = PagesByAge::all()) const {
    return reclaimer_.unwritten_frames(pages);
  }
  /// Begins the next age, and returns it. Called once the checkpoint's mark in the log is complete,
  /// by one thread at a time.
  PageAge begin_age() noexcept { return frames_.begin_age(); }
  void write(std::span<const FrameIndex> frames) { reclaimer_.write(frames); }

  [[nodiscard]] std::uint32_t frame_count() const noexcept { return frames_.count(); }
  [[nodiscard]] std::uint32_t free_frame_count() const noexcept { return free_frames_.count(); }
  [[nodiscard]] std::uint32_t page_size_bytes() const noexcept { return frames_.page_size_bytes(); }
  [[nodiscard]] PageFile& file() noexcept { return file_; }
  [[nodiscard]] SpaceMap& space() noexcept { return space_; }
  [[nodiscard]] PageWriter& writer() noexcept { return writer_; }
  [[nodiscard]] const FrameTable& frames() const noexcept { return frames_; }
  [[nodiscard]] const PageKinds& kinds() const noexcept { return kinds_; }
  /// Attachments of pages that are not in memory.
  [[nodiscard]] const OrphanRegistry& orphans() const noexcept { return orphans_; }

 private:
  friend class PageReservation;
  friend class TreeRoot;

  /// A longer prefetch would push its own first lines out before they are read.
  static constexpr std::uint32_t kPrefetchedBytesMax = 16384;

  void enter_reservation(std::uint32_t pages);
  void leave_reservation(std::uint32_t pages) noexcept;
  [[nodiscard]] PageLoader::Outcome fault(OptimisticPage& parent, SwipRef child);
  void bring_in(OptimisticPage& parent, SwipRef child);
  [[nodiscard]] RootPlace place_root(PageId root, TreeId tree);
  [[nodiscard]] ExclusivePage format(PageReservation& reservation, PageType type,
                                     FrameIndex parent) noexcept;

  PageFile& file_;
  PageWriter& writer_;
  SpaceMap& space_;
  PageKinds kinds_;
  RootPlacesKind places_kind_;
  FrameTable frames_;
  std::unique_ptr<io::BufferRegistration> registration_;  ///< of the frames' memory
  FreeFrames free_frames_;
  RootPlaces roots_;
  BlockCache blocks_;
  OrphanRegistry orphans_;
  PageLoader loader_;
  PageReclaimer reclaimer_;
  std::atomic<const TreeNames*> names_{nullptr};
  std::atomic<std::uint32_t> reserved_{0};              ///< pages of all reservations
  std::atomic<std::uint32_t> reservations_waiting_{0};  ///< threads that sleep until it falls
  PageProvider provider_;                               // last: its thread uses all of the above
};

}  // namespace palimpsest::buffer
