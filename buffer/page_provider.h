// The background thread that keeps a reserve of free frames, so that threads that fault seldom have
// to evict for themselves.
//
// The thread sleeps until the reserve falls below its low mark, works in rounds until the high
// mark, and sleeps again. After a round that freed nothing it waits for a wake-up or a moment;
// after the file or the log has failed, for a wake-up only. It never spins.
// Thread-safety: all functions, from any thread.
// Failure: a write error in the background is not reported here. The pages stay dirty, and a thread
//          that finds no frame meets the error itself, or the file's failed state, which names it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "buffer/free_frames.h"
#include "buffer/page_reclaimer.h"

namespace palimpsest::buffer {

class PageProvider {
 public:
  /// Starts the thread. All references outlive the provider.
  PageProvider(PageReclaimer& reclaimer, FreeFrames& free_frames, std::uint32_t frame_count);
  /// Stops the thread after its current round.
  ~PageProvider();
  PageProvider(const PageProvider&) = delete;
  PageProvider& operator=(const PageProvider&) = delete;

  /// Called after taking frames: wakes the thread if the reserve is low. Cheap otherwise, except
  /// while memory fills up for the first time. Waits for no latch.
  void frames_taken() {
    const std::uint32_t left = free_frames_.count();
    if (left < low_mark_ && !awake_.load(std::memory_order_relaxed)) {
      wake();
    }
    if (left < nearly_full_mark_ && !reclaimer_.has_gone_round()) [[unlikely]] {
      reclaimer_.visit_ahead();
    }
  }

  /// Called when no frame is free: frees frames on the caller's thread, or waits a moment for other
  /// threads to do so. Throws what a failed page write throws, if no frame came of it. The caller
  /// holds no latch.
  void help(std::size_t frames_needed);

 private:
  void wake();
  void run();
  void work();

  PageReclaimer& reclaimer_;
  FreeFrames& free_frames_;
  const std::uint32_t low_mark_;
  const std::uint32_t high_mark_;
  const std::uint32_t nearly_full_mark_;

  std::atomic<bool> awake_{false};
  std::mutex mutex_;
  std::condition_variable wanted_;      // the thread sleeps here
  std::condition_variable round_done_;  // helpers that freed nothing sleep here
  bool stopping_ = false;               // protected by mutex_
  std::thread thread_;                  // last: starts when everything else is there
};

}  // namespace palimpsest::buffer
