#include "buffer/buffer_pool.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "palimpsest/error.h"

#include "base/futex.h"
#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "base/thread_number.h"

namespace palimpsest::buffer {

namespace {

/// Memory of a frame besides its page: its header, and entries in the free list and in BlockCache.
constexpr std::uint64_t kBytesPerFrame =
    sizeof(Frame) + 2 * sizeof(FrameIndex) + BlockCache::kBytesPerFrame;

/// How long a thread looks for a frame before it gives up. Frames are held only for the length of
/// an operation or of a page write, so this passes only when memory is far too small or the device
/// hangs.
constexpr auto kFrameDeadline = std::chrono::seconds(60);

std::uint32_t frames_that_fit(std::uint64_t memory_bytes, std::uint32_t page_size_bytes) {
  const std::uint64_t frames = memory_bytes / (page_size_bytes + kBytesPerFrame);
  if (frames < BufferPool::kFramesMin) {
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("the buffer pool's memory of {} bytes is too small for pages of {} "
                    "bytes: the minimum is {} bytes",
                    memory_bytes, page_size_bytes, BufferPool::memory_bytes_min(page_size_bytes)));
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(frames, raw(kNoFrame) - 1));
}

/// One thread's search for a frame, round after round. Waits are bounded.
class FrameSearch {
 public:
  /// Called after a round that has not helped. Throws out_of_memory when the deadline has passed,
  /// and `failed` when nothing can be written and there seems to be no clean page left in memory.
  void go_on(std::uint32_t frames, const PageFile& file, const PageWriter& writer) {
    const auto searched = std::chrono::steady_clock::now() - start_;
    if ((++rounds_ >= kFailedRounds || searched > kFailedSearch) && writer.failed()) {
      writer.require_working();
    }
    if (searched > kFrameDeadline) {
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{}: none of the buffer pool's {} frames could be freed within {} s",
                              file.name(), frames, kFrameDeadline.count()));
    }
  }

 private:
  /// Other threads may take the frames first, or hold latches that this one only tries.
  static constexpr int kFailedRounds = 20;
  /// In a large pool a single round in vain takes this long: it looks at every frame.
  static constexpr auto kFailedSearch = std::chrono::seconds(1);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  int rounds_ = 0;
};

std::uint32_t stripe_of_thread() noexcept {
  return static_cast<std::uint32_t>(thread_number());
}

}  // namespace

std::uint64_t BufferPool::memory_bytes_min(std::uint32_t page_size_bytes) noexcept {
  return kFramesMin * (page_size_bytes + kBytesPerFrame);
}

BufferPool::BufferPool(PageFile& file, PageWriter& writer, SpaceMap& space, const PageKinds& kinds,
                       const BufferPoolOptions& options, PageAttachment* attachment)
    : file_(file),
      writer_(writer),
      space_(space),
      kinds_(kinds),
      places_kind_(kinds_),
      frames_(frames_that_fit(options.memory_bytes, file.page_size_bytes()),
              file.page_size_bytes()),
      registration_(file.register_buffer(frames_.memory())),
      free_frames_(frames_.count()),
      roots_(frames_, free_frames_),
      blocks_(frames_, free_frames_),
      orphans_(attachment),
      loader_(frames_, free_frames_, orphans_, file, kinds_),
      reclaimer_(frames_, free_frames_, blocks_, orphans_, loader_, writer, space, kinds_),
      provider_(reclaimer_, free_frames_, frames_.count()) {
  kinds_.set(PageType::tree_roots, places_kind_);
}

RootPlace BufferPool::place_root(PageId root, TreeId tree) {
  if (roots_.taken() >= roots_.most()) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{}: the configured memory has room for {} trees (tables and indexes): "
                            "raise Options::memory_bytes",
                            file_.name(), roots_.most()));
  }
  FrameSearch search;
  for (;;) {
    if (const auto place = roots_.take(root, tree)) {
      provider_.frames_taken();
      return *place;
    }
    provider_.help(1);
    search.go_on(frames_.count(), file_, writer_);
  }
}

Error BufferPool::named(const Error& error, TreeId tree) const {
  const TreeNames* const names = names_.load(std::memory_order_acquire);
  const bool is_of_page =
      error.code() == ErrorCode::corruption || error.code() == ErrorCode::io_error;
  return names == nullptr || !is_of_page
             ? error
             : Error(error.code(), names->message_of(tree, error.what()));
}

// Faults are rare, so the tree that an error would name is found out beforehand.
PageLoader::Outcome BufferPool::fault(OptimisticPage& parent, SwipRef child) {
  const PageHeader header = header_of({parent.page(), frames_.page_size_bytes()});
  const TreeId tree = header.type == PageType::tree_roots
                          ? RootPlace::tree_at({parent.page(), page_size_bytes()}, child.offset)
                          : header.tree_id;
  try {
    return loader_.fault(parent, child);
  } catch (const Error& error) {
    throw named(error, tree);
  }
}

void BufferPool::bring_in(OptimisticPage& parent, SwipRef child) {
  if (child.swip.swizzled()) {
    parent.release();  // torn: no such frame
    return;
  }
  if (fault(parent, child) == PageLoader::Outcome::no_frame) {
    FrameSearch search;
    while (free_frames_.count() == 0) {
      provider_.help(1);
      search.go_on(frames_.count(), file_, writer_);
    }
  }
  provider_.frames_taken();
}

SharedPage BufferPool::try_shared(FrameIndex frame,
                                  std::uint64_t version) noexcept PALIMPSEST_NO_ANALYSIS {
  Frame& header = frames_[frame];
  const bool is_latched = header.latch.try_shared_at(version);
  return is_latched ? SharedPage(header, frames_.page(frame)) : SharedPage();
}

Attempt<SharedPage> BufferPool::follow_shared(OptimisticPage& parent,
                                              SwipRef child) PALIMPSEST_NO_ANALYSIS {
  if (!child.swip.swizzled() || !frames_.contains(child.swip.frame())) {
    bring_in(parent, child);
    return restart;
  }
  prefetch_for_search(frames_, child.swip.frame());
  Frame& frame = frames_[child.swip.frame()];
  frame.latch.lock_shared();
  SharedPage page(frame, frames_.page(child.swip.frame()));
  if (!parent.unchanged()) {
    return restart;
  }
  frame.touch();
  return page;
}

Attempt<ExclusivePage> BufferPool::follow_exclusive(OptimisticPage& parent,
                                                    SwipRef child) PALIMPSEST_NO_ANALYSIS {
  if (!child.swip.swizzled() || !frames_.contains(child.swip.frame())) {
    bring_in(parent, child);
    return restart;
  }
  prefetch_for_search(frames_, child.swip.frame());
  Frame& frame = frames_[child.swip.frame()];
  prefetch_line(frame.attached.load(std::memory_order_relaxed));  // the writer will look there
  const Waited waited = frame.latch.lock_exclusive();
  ExclusivePage page(frame, frames_.page(child.swip.frame()), waited);
  if (!parent.unchanged()) {
    page.release_unchanged();
    return restart;
  }
  frame.touch();
  return page;
}

Attempt<OptimisticPage> BufferPool::follow_resident(const OptimisticPage& parent,
                                                    SwipRef child) noexcept {
  if (!child.swip.swizzled() || !frames_.contains(child.swip.frame())) {
    return restart;
  }
  auto page = OptimisticPage::without_waiting(frames_[child.swip.frame()],
                                              frames_.page(child.swip.frame()));
  if (!page || !parent.unchanged()) {
    return restart;
  }
  page->frame().touch();
  return page;
}

bool BufferPool::begin_load(const OptimisticPage& parent, SwipRef child,
                            std::vector<Load>& loads) noexcept {
  try {
    return loader_.begin(parent, child, loads);
  } catch (const std::exception&) {
    return false;  // no memory: the thread that needs the page loads it
  }
}

void BufferPool::finish_loads(std::vector<Load>& loads) noexcept {
  loader_.finish(loads);
  provider_.frames_taken();
}

BlockCache::Filling BufferPool::begin_block(PageId page) {
  BlockCache::Filling filling = blocks_.begin(page);
  provider_.frames_taken();
  return filling;
}

void BufferPool::enter_reservation(std::uint32_t pages) {
  const std::uint32_t reserved_max = frames_.count() / 8;
  std::uint32_t reserved = reserved_.load();
  for (;;) {
    if (reserved != 0 && reserved + pages > reserved_max) {
      // leave_reservation() changes reserved_ before it looks for sleepers; the futex compares it.
      reservations_waiting_.fetch_add(1);
      futex_wait(reserved_, reserved);
      reservations_waiting_.fetch_sub(1);
      reserved = reserved_.load();
    } else if (reserved_.compare_exchange_weak(reserved, reserved + pages)) {
      return;
    }
  }
}

void BufferPool::leave_reservation(std::uint32_t pages) noexcept {
  reserved_.fetch_sub(pages);
  if (reservations_waiting_.load() != 0) {
    futex_wake_all(reserved_);
  }
}

PageReservation BufferPool::reserve(std::uint32_t pages) {
  enter_reservation(pages);
  PageReservation reservation(*this, pages);
  reservation.frames_.reserve(pages);
  reservation.pages_.reserve(pages);
  FrameSearch search;
  while (!free_frames_.take(pages, reservation.frames_)) {
    provider_.help(pages);
    search.go_on(frames_.count(), file_, writer_);
  }
  provider_.frames_taken();
  for (std::uint32_t i = 0; i < pages; ++i) {
    reservation.pages_.push_back(space_.allocate(stripe_of_thread()));
  }
  return reservation;
}

PageReservation::~PageReservation() {
  if (pool_ == nullptr) {
    return;
  }
  for (const PageId page : pages_) {
    pool_->space_.free(page);
  }
  for (const FrameIndex frame : frames_) {
    pool_->free_frames_.give(frame);
  }
  pool_->leave_reservation(reserved_);
}

ExclusivePage BufferPool::format(PageReservation& reservation, PageType type,
                                 FrameIndex parent) noexcept PALIMPSEST_NO_ANALYSIS {
  check(reservation.count() > 0, "a reservation covers each new page");
  const FrameIndex index = reservation.frames_.back();
  reservation.frames_.pop_back();
  Frame& frame = frames_[index];
  frame.latch.lock_exclusive();  // only threads that look for the frame's former page hold it
  PALIMPSEST_DEBUG_CHECK(frame.attached.load(std::memory_order_relaxed) == nullptr,
                         "nothing hangs off a new page");
  frame.page_id.store(reservation.pages_.back(), std::memory_order_relaxed);
  reservation.pages_.pop_back();
  frame.type.store(type, std::memory_order_relaxed);
  frame.parent.store(parent, std::memory_order_relaxed);
  frame.begin_use();
  frame.flags.store(0, std::memory_order_relaxed);
  frame.mark_dirty();
  frame.state.store(FrameState::resident, std::memory_order_release);
  return ExclusivePage(frame, frames_.page(index));
}

ExclusivePage BufferPool::new_page(PageReservation& reservation, PageType type,
                                   const ExclusivePage& parent) noexcept {
  return format(reservation, type, frames_.index_of(parent.frame()));
}

ExclusivePage BufferPool::resident_child([[maybe_unused]] const ExclusivePage& parent,
                                         Swip swip) noexcept PALIMPSEST_NO_ANALYSIS {
  PALIMPSEST_DEBUG_CHECK(parent.holds() && swip.swizzled(),
                         "the parent's latch keeps the child in its frame");
  Frame& frame = frames_[swip.frame()];
  frame.latch.lock_exclusive();
  frame.touch();
  return ExclusivePage(frame, frames_.page(swip.frame()));
}

void BufferPool::adopt_children(const ExclusivePage& parent) noexcept {
  const FrameIndex index = frames_.index_of(parent.frame());
  const PageKind* kind = kinds_.of(parent.frame().type.load(std::memory_order_relaxed));
  kind->visit_swips(frames_.page_bytes(index), [&](std::uint32_t offset) {
    const Swip swip = load_swip(parent.page(), offset);
    if (swip.swizzled()) {
      frames_[swip.frame()].parent.store(index, std::memory_order_relaxed);
    }
  });
}

void BufferPool::rename(ExclusivePage& page, PageId to) noexcept {
  PALIMPSEST_DEBUG_CHECK(!page.frame().has(FrameFlag::writing | FrameFlag::doomed),
                         "nothing is written to a page after its release");
  std::memcpy(page.modify() + offsetof(PageHeader, page_id), &to, sizeof to);
  page.frame().page_id.store(to, std::memory_order_relaxed);
}

void BufferPool::prune_attached(FunctionRef<bool()> is_enough) noexcept {
  orphans_.prune_all(is_enough);
  static_cast<void>(prune_some_attached(frame_count(), is_enough));
}

std::uint32_t BufferPool::prune_some_attached(std::uint32_t frames,
                                              FunctionRef<bool()> is_enough) noexcept {
  return reclaimer_.prune_attached(frames, is_enough);
}

void BufferPool::flush() {
  const std::vector<FrameIndex> frames = unwritten_frames();
  PALIMPSEST_SYNC_POINT("buffer.flush.collected");
  reclaimer_.write(frames);
}

}  // namespace palimpsest::buffer
