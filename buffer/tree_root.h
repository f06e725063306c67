// The root of one tree. Its page is loaded and evicted like every other.
//
// root_places.h argues how a walk begins without a look at a parent.
//
// Latching: as in buffer_pool.h: functions that may do I/O or wait for frames say so, and are
//           called with no latch held.
// Failure: as BufferPool::descend(); corruption also for a page that is not the root of that tree.
// Thread-safety: immutable, except for the page that its slot names; all functions, from any
//                thread. The pool outlives it.
#pragma once

#include <optional>
#include <vector>

#include "base/attempt.h"
#include "base/sync_point.h"
#include "buffer/buffer_pool.h"

namespace palimpsest::buffer {

class TreeRoot {
 public:
  /// The root of an existing tree; called once per tree and pool. Does not look at the page. May
  /// evict; throws out_of_memory.
  [[nodiscard]] static TreeRoot open(BufferPool& pool, PageId page, TreeId tree);

  struct Made;
  /// A root with a new page, exclusively latched, which the caller formats. Throws out_of_memory,
  /// with nothing changed.
  [[nodiscard]] static Made make(BufferPool& pool, PageReservation& reservation, PageType type,
                                 TreeId tree);

  [[nodiscard]] BufferPool& pool() const noexcept { return *pool_; }
  /// The root's page on disk now; a move (structure_moves.cc) changes it. Waits for the page's
  /// latch.
  [[nodiscard]] PageId page() const noexcept;
  [[nodiscard]] const RootPlace& place() const noexcept { return place_; }
  /// Whether a page of the tree, which the caller has latched, is its root. The latched page is not
  /// evicted meanwhile, so the slot names its frame.
  template <class Guard>
  [[nodiscard]] bool is(const Guard& page) const noexcept {
    const Swip swip = place_.swip();
    return swip.swizzled() && &pool_->frames()[swip.frame()] == &page.frame();
  }

  /// Sets `node` to the root's guard; what is read of it counts once validated. False: restart; a
  /// root that is not in memory is brought in (I/O).
  [[nodiscard]] bool descend(OptimisticPage& node) const {
    const Swip swip = place_.swip();
    if (!swip.swizzled()) [[unlikely]] {
      bring_in();
      return false;
    }
    PALIMPSEST_SYNC_POINT("buffer.root.swip_read");
    Frame& frame = pool_->frames()[swip.frame()];
    OptimisticPage page(frame, pool_->frames().page(swip.frame()));
    if (place_.swip() != swip) [[unlikely]] {
      return false;
    }
    frame.touch();
    node = std::move(page);
    return true;
  }
  /// As descend(), but waits for nothing and brings nothing in.
  [[nodiscard]] Attempt<OptimisticPage> resident() const noexcept;
  /// As BufferPool::begin_load().
  bool begin_load(std::vector<BufferPool::Load>& loads) const noexcept;

  /// The root's page and the page of its slot, both exclusively latched.
  struct Latched {
    ExclusivePage places;
    ExclusivePage page;

    void release_unchanged() noexcept {
      page.release_unchanged();
      places.release_unchanged();
    }
  };
  /// Latches both; brings the root in (I/O).
  [[nodiscard]] Latched latch() const;
  /// Latches the root's page alone, if it is in memory. Waits for its latch, and for nothing else.
  [[nodiscard]] std::optional<ExclusivePage> latch_if_resident() const;
  /// The tree is gone, and this object is not used again: frees the page, as
  /// BufferPool::free_page(), and the slot.
  void free(Latched root) const noexcept;

 private:
  TreeRoot(BufferPool& pool, const RootPlace& place) noexcept : pool_(&pool), place_(place) {}

  void bring_in() const;

  BufferPool* pool_;
  RootPlace place_;
};

struct TreeRoot::Made {
  TreeRoot root;
  ExclusivePage page;
};

}  // namespace palimpsest::buffer
