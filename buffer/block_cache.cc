#include "buffer/block_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/sync_point.h"
#include "base/thread_annotations.h"

namespace palimpsest::buffer {

namespace {

/// Free frames that are left to pages of trees: their readers would have to wait. Fewer than the
/// page provider's low mark.
constexpr std::uint32_t kLeftFree = 2;

/// Neighbouring pages go to buckets far from each other.
std::uint64_t hash(PageId page) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9E37'79B9'7F4A'7C15;
  return raw(page) * kGoldenRatio >> 32;
}

}  // namespace

BlockCache::BlockCache(FrameTable& frames, FreeFrames& free_frames)
    : frames_(frames),
      free_frames_(free_frames),
      bucket_count_(frames.count() * kBytesPerFrame / sizeof(Bucket) + 1),
      memory_(bucket_count_ * sizeof(Bucket)) {
  if (memory_.data() == nullptr) {
    throw std::bad_alloc();
  }
  // Zeros are empty slots. They are not touched here: slots that no block needs are not resident.
  buckets_ = {reinterpret_cast<Bucket*>(memory_.data()), bucket_count_};
}

BlockCache::Bucket& BlockCache::bucket_of(PageId page) const noexcept {
  return buckets_[hash(page) * bucket_count_ >> 32];
}

BlockCache::Filling BlockCache::begin(PageId page) PALIMPSEST_NO_ANALYSIS {
  if (free_frames_.count() <= kLeftFree) {
    return {};
  }
  const auto frame = free_frames_.take();
  if (!frame) {
    return {};
  }
  Frame& header = frames_[*frame];
  header.latch.lock_exclusive();  // only threads after its former page may hold it
  header.state.store(FrameState::loading, std::memory_order_release);
  header.page_id.store(page, std::memory_order_relaxed);
  return {*this, *frame, page};
}

// Caller holds the frame's exclusive latch. False if the bucket has no empty slot.
bool BlockCache::keep(FrameIndex frame, PageId page) noexcept {
  for (Place& place : bucket_of(page).places) {
    std::uint64_t expected = kEmptySlot;
    if (place.load(std::memory_order_relaxed) == kEmptySlot &&
        place.compare_exchange_strong(expected, place_of(page, frame), std::memory_order_release,
                                      std::memory_order_relaxed)) {
      Frame& header = frames_[frame];
      header.type.store(PageType::extent_block, std::memory_order_relaxed);
      header.begin_use();
      header.state.store(FrameState::block, std::memory_order_release);
      return true;
    }
  }
  return false;
}

// Caller holds the frame's exclusive latch.
void BlockCache::give_up(FrameIndex frame) noexcept PALIMPSEST_NO_ANALYSIS {
  frames_[frame].state.store(FrameState::free, std::memory_order_release);
  frames_[frame].latch.unlock_exclusive();
  free_frames_.give(frame);
}

// Caller holds the exclusive latch of the frame, which holds a block.
void BlockCache::evict(FrameIndex frame) noexcept {
  const PageId page = frames_[frame].page_id.load(std::memory_order_relaxed);
  bool is_taken_back = false;
  for (Place& place : bucket_of(page).places) {
    if (place.load(std::memory_order_relaxed) == place_of(page, frame)) {
      place.store(kEmptySlot, std::memory_order_relaxed);  // no other thread changes a taken slot
      is_taken_back = true;
      break;
    }
  }
  check(is_taken_back, "a frame with a block is named by one place");
  give_up(frame);
}

void BlockCache::forget(PageId page) noexcept PALIMPSEST_NO_ANALYSIS {
  for (const Place& candidate : bucket_of(page).places) {
    const std::uint64_t place = candidate.load(std::memory_order_acquire);
    if (!names(place, page)) {
      continue;
    }
    const FrameIndex frame = frame_of(place);
    Frame& header = frames_[frame];
    if (!header.latch.try_lock_exclusive()) {
      continue;  // it grows cold
    }
    if (header.state.load(std::memory_order_relaxed) == FrameState::block &&
        header.page_id.load(std::memory_order_relaxed) == page) {
      evict(frame);
    } else {
      header.latch.unlock_exclusive_unchanged();  // the frame holds another page by now
    }
  }
}

bool BlockCache::try_evict(FrameIndex frame) PALIMPSEST_NO_ANALYSIS {
  Frame& header = frames_[frame];
  if (!header.latch.try_lock_exclusive()) {
    return false;
  }
  if (header.state.load(std::memory_order_relaxed) != FrameState::block ||
      !header.cool.load(std::memory_order_relaxed)) {
    header.latch.unlock_exclusive_unchanged();
    return false;
  }
  PALIMPSEST_SYNC_POINT("buffer.block.evicting");
  evict(frame);
  return true;
}

BlockCache::Filling::Filling(Filling&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), frame_(other.frame_), page_(other.page_) {}

BlockCache::Filling::~Filling() {
  if (cache_ != nullptr) {
    cache_->give_up(frame_);
  }
}

void BlockCache::Filling::keep() noexcept PALIMPSEST_NO_ANALYSIS {
  if (cache_->keep(frame_, page_)) {
    PALIMPSEST_SYNC_POINT("buffer.block.kept");
    std::exchange(cache_, nullptr)->frames_[frame_].latch.unlock_exclusive();
  }
}

void BlockCache::Filling::keep_copy(ConstBytes page) noexcept {
  if (has_memory()) {
    std::ranges::copy(page, memory().begin());
    keep();
  }
}

}  // namespace palimpsest::buffer
