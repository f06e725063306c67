#include "buffer/tree_root.h"

#include <utility>

#include "base/check.h"

namespace palimpsest::buffer {

TreeRoot TreeRoot::open(BufferPool& pool, PageId page, TreeId tree) {
  return {pool, pool.place_root(page, tree)};
}

TreeRoot::Made TreeRoot::make(BufferPool& pool, PageReservation& reservation, PageType type,
                              TreeId tree) {
  const TreeRoot root(pool, pool.place_root(reservation.next_page(), tree));
  ExclusivePage places = pool.roots_.latch(root.place_);
  ExclusivePage page = pool.format(reservation, type, root.place_.frame);
  pool.roots_.set(places, root.place_, pool.index_of(page.frame()));
  places.release_unchanged();
  return {.root = root, .page = std::move(page)};
}

void TreeRoot::bring_in() const {
  const FrameTable& frames = pool_->frames();
  OptimisticPage places(frames[place_.frame], frames.page(place_.frame));
  const auto swip =
      places.read([&](const std::byte* page) { return load_swip(page, place_.offset); });
  if (swip && !swip->swizzled()) {
    pool_->bring_in(places, {*swip, place_.offset});
  }
}

// The frame's page id counts only if the root was in that frame when it was read.
PageId TreeRoot::page() const noexcept {
  for (;;) {
    const Swip swip = place_.swip();
    if (!swip.swizzled()) {
      return swip.page();
    }
    const FrameTable& frames = pool_->frames();
    const OptimisticPage root(frames[swip.frame()], frames.page(swip.frame()));
    const PageId page = root.frame().page_id.load(std::memory_order_relaxed);
    if (place_.swip() == swip && root.unchanged()) {
      return page;
    }
  }
}

// The version was taken between two looks at the swip: while it stands, the frame holds the root.
std::optional<ExclusivePage> TreeRoot::latch_if_resident() const {
  for (;;) {
    const Swip swip = place_.swip();
    if (!swip.swizzled()) {
      return std::nullopt;
    }
    const FrameTable& frames = pool_->frames();
    OptimisticPage root(frames[swip.frame()], frames.page(swip.frame()));
    if (place_.swip() == swip) {
      if (auto latched = std::move(root).to_exclusive()) {
        return *std::move(latched);
      }
    }
  }
}

Attempt<OptimisticPage> TreeRoot::resident() const noexcept {
  const Swip swip = place_.swip();
  if (!swip.swizzled()) {
    return restart;
  }
  const FrameTable& frames = pool_->frames();
  auto page = OptimisticPage::without_waiting(frames[swip.frame()], frames.page(swip.frame()));
  if (!page || place_.swip() != swip) {
    return restart;
  }
  page->frame().touch();
  return page;
}

bool TreeRoot::begin_load(std::vector<BufferPool::Load>& loads) const noexcept {
  const FrameTable& frames = pool_->frames();
  const auto places =
      OptimisticPage::without_waiting(frames[place_.frame], frames.page(place_.frame));
  const Swip swip = place_.swip();
  return places && !swip.swizzled() && pool_->begin_load(*places, {swip, place_.offset}, loads);
}

TreeRoot::Latched TreeRoot::latch() const {
  for (;;) {
    ExclusivePage places = pool_->roots_.latch(place_);
    if (const Swip swip = place_.swip(); swip.swizzled()) {
      ExclusivePage page = pool_->resident_child(places, swip);
      return {.places = std::move(places), .page = std::move(page)};
    }
    places.release_unchanged();
    bring_in();
  }
}

void TreeRoot::free(Latched root) const noexcept {
  pool_->roots_.give(std::move(root.places), place_);
  pool_->free_page(std::move(root.page));
}

}  // namespace palimpsest::buffer
