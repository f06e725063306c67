#include "buffer/page_loader.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <string>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "base/thread_annotations.h"

namespace palimpsest::buffer {

namespace {

PageHeader header_of(const std::byte* page) noexcept {
  PageHeader header;
  std::memcpy(&header, page, sizeof header);
  return header;
}

}  // namespace

PageLoader::Outcome PageLoader::fault(OptimisticPage& parent,
                                      SwipRef child) PALIMPSEST_NO_ANALYSIS {
  const PageId page = child.swip.page();
  if (!parent.unchanged()) {
    parent.release();
    return Outcome::retry;  // the page id may be torn
  }
  const auto under_way = table_.find(page);
  if (under_way.found == FaultTable::Found::ready) {
    attach_ready(std::move(parent), child);
    return Outcome::retry;
  }
  if (under_way.found == FaultTable::Found::loading) {
    parent.release();
    HybridLatch& latch = frames_[under_way.frame].latch;
    latch.lock_shared();  // waits for the load
    latch.unlock_shared();
    return Outcome::retry;
  }
  std::vector<Load> loads;
  if (!begin(parent, child, loads)) {
    parent.release();
    return free_frames_.count() == 0 ? Outcome::no_frame : Outcome::retry;
  }
  parent.release();
  PALIMPSEST_SYNC_POINT("buffer.fault.entered");
  const Load& load = loads.front();
  try {
    file_.read_page(page, frames_.page_bytes(load.frame));
    verify(load.frame, page);
    attach(load);
  } catch (...) {
    withdraw(load);
    throw;
  }
  frames_[load.frame].latch.unlock_exclusive();
  return Outcome::retry;
}

// The frame of a load that was begun stays latched exclusively, until finish() or fault() is done.
bool PageLoader::begin(const OptimisticPage& parent, SwipRef child,
                       std::vector<Load>& loads) PALIMPSEST_NO_ANALYSIS {
  loads.reserve(kLoadsMax);  // so that a load that was entered is noted
  if (loads.size() == kLoadsMax) {
    return false;
  }
  const auto frame = free_frames_.take();
  if (!frame) {
    return false;
  }
  frames_[*frame].latch.lock_exclusive();  // only threads after its former page may hold it
  bool entered = false;
  try {
    entered = enter(parent, child, *frame);
  } catch (...) {
    release_unused(*frame);
    throw;
  }
  if (!entered) {
    release_unused(*frame);
    return false;
  }
  const Load load{*frame, child.swip.page(), &parent.frame(), parent.version(), child.offset};
  try {
    orphans_.prepare_return(load.page);
  } catch (...) {
    withdraw(load);
    throw;
  }
  loads.push_back(load);
  return true;
}

// Caller holds the frame's exclusive latch.
bool PageLoader::enter(const OptimisticPage& parent, SwipRef child,
                       FrameIndex frame) PALIMPSEST_NO_ANALYSIS {
  const PageId page = child.swip.page();
  Frame& header = frames_[frame];
  header.cool.store(false, std::memory_order_relaxed);
  header.state.store(FrameState::loading, std::memory_order_release);
  header.page_id.store(page, std::memory_order_relaxed);
  PALIMPSEST_SYNC_POINT("buffer.fault.swip_read");
  if (table_.insert(page, frame).found != FaultTable::Found::nothing) {
    return false;
  }
  PALIMPSEST_SYNC_POINT("buffer.fault.inserted");
  const auto still = parent.read([&](const std::byte* bytes) {
    const Swip swip = load_swip(bytes, child.offset);
    PALIMPSEST_SYNC_POINT("buffer.fault.swip_seen");
    return swip;
  });
  if (still && *still == child.swip) {
    return true;
  }
  table_.remove_loading(page, frame);
  return false;
}

void PageLoader::finish(std::vector<Load>& loads) noexcept PALIMPSEST_NO_ANALYSIS {
  std::array<PageRead, kLoadsMax> reads;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    reads[i] = {.id = loads[i].page, .into = frames_.page_bytes(loads[i].frame)};
  }
  file_.read_pages(std::span(reads).first(loads.size()));
  for (std::size_t i = 0; i < loads.size(); ++i) {
    try {
      if (!reads[i].ok()) {
        file_.throw_read_error(reads[i]);
      }
      verify(loads[i].frame, loads[i].page);
      attach(loads[i]);
      frames_[loads[i].frame].latch.unlock_exclusive();
    } catch (const std::exception&) {
      withdraw(loads[i]);  // the thread that needs the page reads it again and reports
    }
  }
  loads.clear();
}

// Caller has found a ready entry; the parent is as it was when the swip was read, or changed. Other
// threads may hold the frame: the loader that is about to release it, threads that wait for it, or
// threads that followed a stale swip. They do not look at the page. This thread waits for them
// without the parent, which all threads that want its other children need meanwhile. Before that it
// marks the page ready again, for any thread to attach; by the time it has latched the frame, the
// frame may hold another page.
void PageLoader::attach_ready(OptimisticPage parent, SwipRef child) PALIMPSEST_NO_ANALYSIS {
  const std::uint64_t version = parent.version();
  auto latched = std::move(parent).to_exclusive();
  if (!latched) {
    return;
  }
  ExclusivePage holder = *std::move(latched);
  if (load_swip(holder.page(), child.offset) != child.swip) {
    holder.release_unchanged();  // another thread attached it, which leaves the version alone
    return;
  }
  const PageId page = child.swip.page();
  const FrameIndex frame = table_.claim_ready(page);
  if (frame == kNoFrame) {
    holder.release_unchanged();  // dropped because frames were short: it will be loaded again
    return;
  }
  HybridLatch& latch = frames_[frame].latch;
  if (!latch.try_lock_exclusive()) {
    frames_[frame].cool.store(false, std::memory_order_relaxed);  // it is needed
    table_.mark_ready(page, frame);
    holder.release_unchanged();
    latch.lock_exclusive();
    latch.unlock_exclusive_unchanged();
    return;
  }
  const Load load{frame, page, &holder.frame(), version, child.offset};
  try {
    link(std::move(holder), load);
  } catch (...) {
    withdraw(load);
    throw;
  }
  latch.unlock_exclusive();
}

// Caller holds the loaded frame's exclusive latch; throws if the page may not hang there.
void PageLoader::attach(const Load& load) PALIMPSEST_NO_ANALYSIS {
  Frame& parent = *load.parent;
  if (parent.latch.try_upgrade(load.parent_version)) {
    link(ExclusivePage(parent, frames_.page(frames_.index_of(parent))), load);
  } else {
    table_.mark_ready(load.page, load.frame);
    PALIMPSEST_SYNC_POINT("buffer.attach.ready");
  }
}

// As attach(), for a page whose entry belongs to the caller. The entry goes last, so that a thread
// that enters the page from then on finds that its swip has changed.
void PageLoader::link(ExclusivePage parent, const Load& load) {
  const FrameIndex parent_index = frames_.index_of(parent.frame());
  const MutableBytes parent_bytes = frames_.page_bytes(parent_index);
  try {
    check_edge(parent_bytes, load.offset, load.frame, load.page);
  } catch (...) {
    parent.release_unchanged();
    throw;
  }
  become_resident(load.frame, load.page, parent_index);
  PALIMPSEST_SYNC_POINT("buffer.attach.storing");
  store_swip(parent_bytes.data(), load.offset, Swip::of_frame(load.frame));
  table_.remove_loading(load.page, load.frame);
  parent.release_unchanged();
}

void PageLoader::verify(FrameIndex frame, PageId page) {
  const ConstBytes bytes = frames_.page_bytes(frame);
  const PageType type = header_of(bytes.data()).type;
  const PageKind* kind = kinds_.of(type);
  std::optional<std::string> reason;
  if (kind == nullptr) {
    reason = fmt::format("a page of type {} cannot be part of a tree", static_cast<unsigned>(type));
  } else {
    reason = kind->validate(bytes);
  }
  if (reason) {
    throw Error(ErrorCode::corruption,
                fmt::format("{}: page {}: {}", file_.name(), raw(page), *reason));
  }
  frames_[frame].type.store(type, std::memory_order_relaxed);
}

void PageLoader::check_edge(ConstBytes parent, std::uint32_t swip_offset, FrameIndex frame,
                            PageId page) const {
  const PageHeader header = header_of(parent.data());
  const PageKind* kind = kinds_.of(header.type);
  const auto reason = kind->validate_child(parent, swip_offset, frames_.page_bytes(frame));
  if (reason) {
    const std::string below = header.type == PageType::tree_roots
                                  ? std::string()
                                  : fmt::format(" below page {}", raw(header.page_id));
    throw Error(ErrorCode::corruption,
                fmt::format("{}: page {}{}: {}", file_.name(), raw(page), below, *reason));
  }
}

// Caller holds the frame's exclusive latch and, if there is a parent, that of the parent; it
// sets the parent's swip next.
void PageLoader::become_resident(FrameIndex index, PageId page, FrameIndex parent) noexcept {
  Frame& frame = frames_[index];
  if (Attached* attached = orphans_.page_returns(page); attached != nullptr) [[unlikely]] {
    kinds_.of(frame.type.load(std::memory_order_relaxed))
        ->mark_attached(frames_.page_bytes(index), *attached);
    frame.hang(attached);
    PALIMPSEST_SYNC_POINT("buffer.orphan.attached");
  }
  frame.parent.store(parent, std::memory_order_relaxed);
  frame.begin_use();
  frame.state.store(FrameState::resident, std::memory_order_release);
}

void PageLoader::withdraw(const Load& load) noexcept {
  table_.remove_loading(load.page, load.frame);
  release_unused(load.frame);
}

// Caller holds the frame's exclusive latch.
void PageLoader::release_unused(FrameIndex frame) noexcept PALIMPSEST_NO_ANALYSIS {
  frames_[frame].state.store(FrameState::free, std::memory_order_release);
  frames_[frame].latch.unlock_exclusive();
  free_frames_.give(frame);
}

bool PageLoader::drop_ready(FrameIndex frame) {
  const PageId page = frames_[frame].page_id.load(std::memory_order_relaxed);
  if (!table_.take_ready(page, frame)) {
    return false;
  }
  frames_[frame].state.store(FrameState::free, std::memory_order_release);
  free_frames_.give(frame);
  return true;
}

}  // namespace palimpsest::buffer
