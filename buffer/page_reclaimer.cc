#include "buffer/page_reclaimer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "buffer/page_header.h"
#include "buffer/swip.h"

namespace palimpsest::buffer {

namespace {

/// Frames that a round takes from the hand at once, so that concurrent rounds seldom meet.
constexpr std::uint32_t kStride = 8;
/// Times round all frames after which every evictable page has been found: one round marks, each of
/// the next reduces its heat, and one finds it cold.
constexpr std::size_t kTurnsMax = 2 + std::size_t{Frame::kHeatMax};
/// A round frees more than its goal rather than leave cold pages of a parent: another visit would
/// cool that parent's other children for little gain. But it frees at most this share of all
/// frames.
constexpr std::uint32_t kShareAtOnce = 32;
constexpr std::size_t kMostAtOnce = 512;
/// Pages that have their attachments pruned together; they stay latched for as long.
constexpr std::size_t kPrunedTogether = 4;

}  // namespace

std::size_t PageReclaimer::reclaim(std::size_t goal) {
  Round round;
  round.goal = goal;
  round.most = std::max<std::size_t>(
      goal, std::min<std::size_t>(frames_.count() / kShareAtOnce, kMostAtOnce));
  // A batch costs a sync, however few its pages. So dirty pages wait for a whole batch, or an
  // eighth of a small pool, as long as there are clean pages to take.
  round.dirty_goal = std::clamp<std::size_t>(frames_.count() / 8, 1, writer_.batch_pages());
  round.dirty.reserve(round.dirty_goal);  // nothing is allocated under a latch
  round.victims.reserve(std::max(round.most, round.dirty_goal));
  // With a failed file or log, reading goes on as long as there are clean pages.
  round.takes_dirty = can_write();
  move_hand(round);
  orphans_.prune_some();
  if (round.freed < goal && !round.dirty.empty()) {
    write_and_evict(round);
  }
  if (round.freed == 0 && round.contended != kNoFrame) {
    evict_in_turn(round);
  }
  return round.freed;
}

// A round visits all frames it has taken from the hand, even when it has enough: no other round
// visits them in this circle.
void PageReclaimer::move_hand(Round& round) {
  for (std::size_t seen = 0; seen < kTurnsMax * frames_.count(); seen += kStride) {
    if (round.freed >= round.goal || round.dirty.size() >= round.dirty_goal) {
      return;
    }
    visit_next(round);
  }
}

void PageReclaimer::visit_next(Round& round) {
  const std::uint32_t first = hand_.fetch_add(kStride, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kStride; ++i) {
    visit(FrameIndex{(first + i) % frames_.count()}, round);
  }
}

void PageReclaimer::visit_ahead() {
  Round round;
  round.takes_dirty = false;
  visit_next(round);
}

PageReclaimer::~PageReclaimer() {
  for (std::uint32_t i = 0; i < frames_.count(); ++i) {
    Attached* attached = frames_[FrameIndex{i}].attached.load(std::memory_order_relaxed);
    if (attached != nullptr) {
      orphans_.attachment()->destroy(*attached);
    }
  }
}

// Attachments, and the memory they lead to, lie in no cache, so a few pages are pruned together.
// None is latched while more are searched for.
std::uint32_t PageReclaimer::prune_attached(std::uint32_t frames,
                                            FunctionRef<bool()> is_enough) noexcept {
  std::uint32_t pruned = 0;
  std::array<FrameIndex, kPrunedTogether> found;
  std::size_t count = 0;
  for (std::uint32_t left = std::min(frames, frames_.count()); left > 0; --left) {
    const FrameIndex next{prune_next_.load(std::memory_order_relaxed) % frames_.count()};
    const bool has_some = frames_[next].attached.load(std::memory_order_relaxed) != nullptr;
    if (has_some && is_enough()) {
      break;
    }
    prune_next_.fetch_add(1, std::memory_order_relaxed);
    if (has_some) {
      found[count++] = next;
    }
    if (count == found.size()) {
      pruned += prune_together(std::span(found).first(std::exchange(count, 0)));
    }
  }
  return pruned + prune_together(std::span(found).first(count));
}

// Pruning changes only bytes that are never written.
std::uint32_t PageReclaimer::prune_together(std::span<const FrameIndex> frames) noexcept
    PALIMPSEST_NO_ANALYSIS {
  std::array<Frame*, kPrunedTogether> held{};
  std::array<Hanging, kPrunedTogether> hanging{};
  std::size_t count = 0;
  for (const FrameIndex frame : frames) {
    if (try_hold_attached(frame)) {
      held[count] = &frames_[frame];
      hanging[count++] = {.what = frames_[frame].attached.load(std::memory_order_relaxed),
                          .page = frames_.page_bytes(frame)};
    }
  }
  if (count == 0) {
    return 0;  // or the pool has no PageAttachment
  }
  orphans_.attachment()->prune_all(std::span(hanging).first(count));
  std::uint32_t pruned = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (hanging[i].what == nullptr) {
      held[i]->hang(nullptr);
      ++pruned;
    }
    hanging[i].page_changed ? held[i]->latch.unlock_exclusive()
                            : held[i]->latch.unlock_exclusive_unchanged();
  }
  return pruned;
}

/// Latches the page exclusively if it has an attachment and the latch is free.
bool PageReclaimer::try_hold_attached(FrameIndex frame) noexcept PALIMPSEST_NO_ANALYSIS {
  Frame& header = frames_[frame];
  if (!header.latch.try_lock_exclusive()) {
    return false;
  }
  if (header.attached.load(std::memory_order_relaxed) == nullptr) {
    header.latch.unlock_exclusive_unchanged();
    return false;
  }
  return true;
}

// Reports a failed write only if the round has freed no frame: a caller with frames, which may only
// want to read, has what it needs.
void PageReclaimer::write_and_evict(Round& round) {
  try {
    std::span<const FrameIndex> rest(round.dirty);
    const auto written = write_batch(rest, Patience::try_only);
    evict_written(written, round);
  } catch (const std::exception&) {
    if (round.freed == 0) {
      throw;
    }
  }
}

// A tree page without children is visited when its parent is.
void PageReclaimer::visit(FrameIndex frame, Round& round) {
  Frame& header = frames_[frame];
  const FrameState state = header.state.load(std::memory_order_acquire);
  if (state == FrameState::ready) {  // loaded by prefetch, and not used yet
    if (header.cool.exchange(true, std::memory_order_relaxed) && loader_.drop_ready(frame)) {
      ++round.freed;
    }
    return;
  }
  if (state == FrameState::block) {
    visit_block(frame, round);
    return;
  }
  const PageType type = header.type.load(std::memory_order_relaxed);
  const PageKind* const kind = kinds_.of(type);
  if (state == FrameState::resident && kind != nullptr && kind->has_swips(type)) {
    visit_children(frame, round);
  }
}

// A block has no parent.
void PageReclaimer::visit_block(FrameIndex frame, Round& round) {
  if (frames_[frame].is_cold_at_visit() && round.freed < round.most && blocks_.try_evict(frame)) {
    ++round.freed;
  }
}

// With many threads short of frames, one of them is always inside a visit, perhaps preempted, and
// holds the parent shared: trying alone might never succeed. So this one waits.
void PageReclaimer::evict_in_turn(Round& round) {
  HybridLatch& latch = frames_[round.contended].latch;
  latch.lock_exclusive();
  find_cool_children(round.contended, round);
  const bool changed = evict_children(round.contended, round);
  changed ? latch.unlock_exclusive() : latch.unlock_exclusive_unchanged();
}

void PageReclaimer::visit_children(FrameIndex parent, Round& round) {
  HybridLatch& latch = frames_[parent].latch;
  if (!latch.try_lock_shared()) {
    round.contended = parent;
    return;
  }
  const auto version = latch.try_optimistic();
  find_cool_children(parent, round);
  latch.unlock_shared();
  if (round.victims.empty()) {
    return;
  }
  if (!latch.try_upgrade(*version)) {
    round.contended = parent;
    return;
  }
  const bool changed = evict_children(parent, round);
  changed ? latch.unlock_exclusive() : latch.unlock_exclusive_unchanged();
}

// Caller holds the parent's latch, shared or exclusive; it may have become another page since.
void PageReclaimer::find_cool_children(FrameIndex parent, Round& round) {
  const Frame& header = frames_[parent];
  const PageKind* kind = kinds_.of(header.type.load(std::memory_order_relaxed));
  round.victims.clear();
  if (kind == nullptr || header.state.load(std::memory_order_acquire) != FrameState::resident) {
    return;
  }
  kind->visit_swips(frames_.page_bytes(parent), [&](std::uint32_t offset) {
    const Swip swip = load_swip(frames_.page(parent), offset);
    if (swip.swizzled()) {
      judge_child(swip.frame(), offset, round);
    }
  });
}

// Caller holds the parent's latch, so the child stays where it is.
void PageReclaimer::judge_child(FrameIndex child, std::uint32_t swip_offset, Round& round) {
  Frame& header = frames_[child];
  if (!header.is_cold_at_visit()) {
    return;
  }
  const std::uint32_t flags = header.flags.load(std::memory_order_acquire);
  if (flags == 0 && round.freed + round.victims.size() < round.most) {
    round.victims.push_back(swip_offset);
  } else if ((flags & FrameFlag::kAll) == FrameFlag::dirty && round.takes_dirty &&
             round.dirty.size() < round.dirty_goal &&
             std::ranges::find(round.dirty, child) == round.dirty.end()) {
    round.dirty.push_back(child);
  }
}

// Caller holds the frame's latch, shared or exclusive.
bool PageReclaimer::has_swizzled_child(FrameIndex frame) const {
  const PageKind* kind = kinds_.of(frames_[frame].type.load(std::memory_order_relaxed));
  if (kind == nullptr) {
    return false;
  }
  bool found = false;
  kind->visit_swips(frames_.page_bytes(frame), [&](std::uint32_t offset) {
    found = found || load_swip(frames_.page(frame), offset).swizzled();
  });
  return found;
}

// Caller holds the parent's exclusive latch; it is unchanged since the victims were found. Returns
// whether any was evicted.
bool PageReclaimer::evict_children(FrameIndex parent, Round& round) {
  const std::size_t freed_before = round.freed;
  for (const std::uint32_t offset : round.victims) {
    if (try_evict(parent, offset)) {
      ++round.freed;
    }
  }
  return round.freed != freed_before;
}

// Caller holds the parent's exclusive latch; the swip is swizzled.
bool PageReclaimer::try_evict(FrameIndex parent, std::uint32_t swip_offset) {
  const FrameIndex child = load_swip(frames_.page(parent), swip_offset).frame();
  Frame& header = frames_[child];
  if (!header.latch.try_lock_exclusive()) {
    return false;
  }
  const bool clean = header.flags.load(std::memory_order_acquire) == 0;
  if (!clean || !header.cool.load(std::memory_order_relaxed) || has_swizzled_child(child)) {
    header.latch.unlock_exclusive_unchanged();
    return false;
  }
  const PageId page = header.page_id.load(std::memory_order_relaxed);
  if (!orphans_.page_leaves(header, frames_.page_bytes(child))) {
    header.latch.unlock_exclusive();
    return false;
  }
  store_swip(frames_.page(parent), swip_offset, Swip::of_page(page));
  header.state.store(FrameState::free, std::memory_order_release);
  PALIMPSEST_SYNC_POINT("buffer.evict.unswizzled");
  header.latch.unlock_exclusive();
  free_frames_.give(child);
  return true;
}

// Evicts frames just written, unless they have been used since; by parent, as everywhere.
void PageReclaimer::evict_written(std::span<const FrameIndex> frames, Round& round) {
  std::vector<std::pair<FrameIndex, FrameIndex>> by_parent;
  for (const FrameIndex frame : frames) {
    by_parent.emplace_back(frames_[frame].parent.load(std::memory_order_relaxed), frame);
  }
  std::ranges::sort(by_parent);
  for (auto first = by_parent.begin(); first != by_parent.end();) {
    const FrameIndex parent = first->first;
    const auto last = std::find_if(first, by_parent.end(),
                                   [&](const auto& entry) { return entry.first != parent; });
    if (parent != kNoFrame && frames_[parent].latch.try_lock_exclusive()) {
      find_victims(parent, std::span(first, last), round);
      const bool changed = evict_children(parent, round);
      changed ? frames_[parent].latch.unlock_exclusive()
              : frames_[parent].latch.unlock_exclusive_unchanged();
    }
    first = last;
  }
}

// Caller holds the parent's exclusive latch; it may have become another page since.
void PageReclaimer::find_victims(FrameIndex parent,
                                 std::span<const std::pair<FrameIndex, FrameIndex>> wanted,
                                 Round& round) {
  round.victims.clear();
  const PageKind* kind = kinds_.of(frames_[parent].type.load(std::memory_order_relaxed));
  if (kind == nullptr ||
      frames_[parent].state.load(std::memory_order_acquire) != FrameState::resident) {
    return;
  }
  kind->visit_swips(frames_.page_bytes(parent), [&](std::uint32_t offset) {
    const Swip swip = load_swip(frames_.page(parent), offset);
    if (swip.swizzled() && std::ranges::binary_search(wanted, std::pair(parent, swip.frame()))) {
      round.victims.push_back(offset);  // at most as many as were written
    }
  });
}

void PageReclaimer::write(std::span<const FrameIndex> frames) {
  while (!frames.empty()) {
    static_cast<void>(write_batch(frames, Patience::wait));
  }
}

// Writes one batch of `frames`: drops those dealt with from the front, returns those written.
std::vector<FrameIndex> PageReclaimer::write_batch(std::span<const FrameIndex>& frames,
                                                   Patience patience) {
  std::vector<FrameIndex> copied;
  copied.reserve(std::min(frames.size(), writer_.batch_pages()));
  auto batch = writer_.begin_batch();
  const PageAge age = frames_.age();  // before anything is copied
  for (std::byte* slot = batch.slot(); slot != nullptr && !frames.empty(); slot = batch.slot()) {
    PageId page = kNoPage;
    if (copy_image(frames.front(), slot, patience, page)) {
      batch.add(page);
      copied.push_back(frames.front());
    }
    frames = frames.subspan(1);
  }
  try {
    batch.write();
  } catch (...) {
    for (const FrameIndex frame : copied) {
      end_write(frame, false, age);
    }
    throw;
  }
  for (const FrameIndex frame : copied) {  // under the mutex: the next batch may want them
    end_write(frame, true, age);
  }
  return copied;
}

bool PageReclaimer::copy_image(FrameIndex frame, std::byte* into, Patience patience, PageId& page) {
  Frame& header = frames_[frame];
  if (patience == Patience::wait) {
    header.latch.lock_shared();
  } else if (!header.latch.try_lock_shared()) {
    return false;
  }
  const bool resident = header.state.load(std::memory_order_acquire) == FrameState::resident;
  const bool wanted = resident && (header.flags.load(std::memory_order_acquire) &
                                   (FrameFlag::dirty | FrameFlag::writing)) == FrameFlag::dirty;
  if (wanted) {
    page = header.page_id.load(std::memory_order_relaxed);
    std::memcpy(into, frames_.page(frame), frames_.page_size_bytes());
    make_writable(frame, into);
    header.flags.fetch_xor(FrameFlag::dirty | FrameFlag::writing, std::memory_order_acq_rel);
  }
  header.latch.unlock_shared();
  return wanted;
}

// Caller holds the frame's latch, so its children stay where they are. I-6: memory-only content is
// removed here, before the copy goes to ring and page.
void PageReclaimer::make_writable(FrameIndex frame, std::byte* copy) const {
  const PageKind* kind = kinds_.of(frames_[frame].type.load(std::memory_order_relaxed));
  kind->visit_swips(frames_.page_bytes(frame), [&](std::uint32_t offset) {
    const Swip swip = load_swip(copy, offset);
    if (swip.swizzled()) {
      const PageId child = frames_[swip.frame()].page_id.load(std::memory_order_relaxed);
      store_swip(copy, offset, Swip::of_page(child));
    }
  });
  kind->clean_image({copy, frames_.page_size_bytes()});
}

void PageReclaimer::end_write(FrameIndex frame, bool written, PageAge copied) noexcept {
  const auto before = frames_[frame].end_write(written, copied);
  if ((before & FrameFlag::doomed) != 0) {
    complete_free(frame);
  }
}

void PageReclaimer::free_page(ExclusivePage page) noexcept {
  Frame& header = page.frame();
  check(header.attached.load(std::memory_order_relaxed) == nullptr,
        "nothing hangs off a page that is freed");
  const FrameIndex frame = frames_.index_of(header);
  header.state.store(FrameState::free, std::memory_order_release);  // no thread starts a write now
  const auto before = header.flags.fetch_or(FrameFlag::doomed, std::memory_order_acq_rel);
  page.release();
  if ((before & FrameFlag::writing) == 0) {
    complete_free(frame);
  }
}

// The frame is the caller's alone: no thread writes to its page any more.
void PageReclaimer::complete_free(FrameIndex frame) noexcept {
  Frame& header = frames_[frame];
  const PageId page = header.page_id.load(std::memory_order_relaxed);
  const Gsn freed_at = header_of(frames_.page_bytes(frame)).gsn;
  header.flags.store(0, std::memory_order_release);
  space_.free_when_durable({page, 1}, freed_at);
  free_frames_.give(frame);
}

// Looks at the latch first: once a holder has released it, the flags tell.
bool PageReclaimer::is_unwritten(FrameIndex index, const PagesByAge& pages) const {
  const Frame& frame = frames_[index];
  const bool being_changed = !frame.latch.try_optimistic().has_value();
  if (frame.state.load(std::memory_order_acquire) != FrameState::resident) {
    return false;
  }
  const std::uint32_t flags = frame.flags.load(std::memory_order_acquire);
  const bool unwritten = (flags & (FrameFlag::dirty | FrameFlag::writing)) != 0;
  return being_changed || (unwritten && pages.have(frame.page_id.load(std::memory_order_relaxed),
                                                   FrameFlag::since_of(flags)));
}

std::vector<FrameIndex> PageReclaimer::unwritten_frames(const PagesByAge& pages) const {
  std::vector<std::pair<PageId, FrameIndex>> unwritten;
  for (std::uint32_t i = 0; i < frames_.count(); ++i) {
    const Frame& header = frames_[FrameIndex{i}];
    if (is_unwritten(FrameIndex{i}, pages)) {
      unwritten.emplace_back(header.page_id.load(std::memory_order_relaxed), FrameIndex{i});
    }
  }
  std::ranges::sort(unwritten);
  std::vector<FrameIndex> frames;
  frames.reserve(unwritten.size());
  for (const auto& [page, frame] : unwritten) {
    frames.push_back(frame);
  }
  return frames;
}

}  // namespace palimpsest::buffer
