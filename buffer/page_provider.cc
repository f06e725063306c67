#include "buffer/page_provider.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "palimpsest/error.h"

#include "base/start_thread.h"
#include "base/sync_point.h"

namespace palimpsest::buffer {

namespace {

/// How long to wait after a round that freed nothing: long enough for a descent or a page write.
constexpr auto kFruitlessPause = std::chrono::milliseconds(1);
constexpr auto kErrorPause = std::chrono::milliseconds(100);
constexpr std::size_t kRoundFrames = 128;
/// The low mark of the reserve, as a share of all frames: free frames cache nothing.
constexpr std::uint32_t kShareFree = 256;
/// When fewer frames than this share are free, pages are visited in advance: eight for each frame
/// taken, so that all of them have been visited by the time the first one has to go.
constexpr std::uint32_t kShareNearlyFull = 8;

}  // namespace

PageProvider::PageProvider(PageReclaimer& reclaimer, FreeFrames& free_frames,
                           std::uint32_t frame_count)
    : reclaimer_(reclaimer),
      free_frames_(free_frames),
      low_mark_(std::clamp(frame_count / kShareFree, 4U, 1024U)),
      high_mark_(low_mark_ * 2),
      nearly_full_mark_(frame_count / kShareNearlyFull),
      thread_(start_thread("that evicts pages", [this] { run(); })) {}

PageProvider::~PageProvider() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

void PageProvider::wake() {
  {
    const std::scoped_lock lock(mutex_);
    awake_.store(true, std::memory_order_relaxed);
  }
  wanted_.notify_one();
}

void PageProvider::help(std::size_t frames_needed) {
  wake();
  if (free_frames_.count() >= frames_needed) {
    return;  // other threads have freed enough
  }
  if (reclaimer_.reclaim(std::max<std::size_t>(frames_needed, 8)) == 0 &&
      free_frames_.count() < frames_needed) {
    std::unique_lock lock(mutex_);
    round_done_.wait_for(lock, kFruitlessPause);
  }
}

void PageProvider::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    PALIMPSEST_SYNC_POINT("buffer.provider.sleeps");
    wanted_.wait(lock, [&] { return stopping_ || awake_.load(std::memory_order_relaxed); });
    lock.unlock();
    work();
    lock.lock();
  }
}

// Works until the reserve is full or the pool is being closed. When nothing can be written any
// more, no page becomes clean by itself: it stops until a thread takes a frame again.
void PageProvider::work() {
  for (;;) {
    bool is_hopeless = false;
    auto pause = std::chrono::milliseconds(0);
    const std::uint32_t have = free_frames_.count();
    if (have < high_mark_) {
      try {
        const std::size_t goal = std::min<std::size_t>(high_mark_ - have, kRoundFrames);
        if (reclaimer_.reclaim(goal) == 0) {
          pause = kFruitlessPause;
          is_hopeless = !reclaimer_.can_write();
        }
      } catch (const std::exception&) {
        pause = kErrorPause;
      }
    }
    std::unique_lock lock(mutex_);
    round_done_.notify_all();
    if (have >= high_mark_ || is_hopeless) {
      awake_.store(false, std::memory_order_relaxed);
      return;
    }
    if (pause.count() > 0) {
      wanted_.wait_for(lock, pause, [&] { return stopping_; });
    }
    if (stopping_) {
      return;
    }
  }
}

}  // namespace palimpsest::buffer
