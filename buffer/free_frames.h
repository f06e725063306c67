// The frames that hold no page.
//
// Sharded so that threads that fault at the same time seldom meet: each thread starts at a shard of
// its own. A shard is a range of neighbouring frames, handed out from the lowest: memory becomes
// resident as it is needed, and huge pages are used whole.
// Thread-safety: all functions, from any thread. Shard mutexes are leaves of the latch order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace palimpsest::buffer {

class FreeFrames {
 public:
  explicit FreeFrames(std::uint32_t frame_count);

  [[nodiscard]] std::optional<FrameIndex> take();
  /// Takes all `count` frames, or none and returns false.
  [[nodiscard]] bool take(std::uint32_t count, std::vector<FrameIndex>& into);
  void give(FrameIndex frame);

  /// How many frames are free; stale at once.
  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kShards = 16;

  struct alignas(64) Shard {
    std::mutex mutex;
    std::vector<FrameIndex> frames;
  };

  [[nodiscard]] static std::size_t home_shard() noexcept;
  [[nodiscard]] Shard& shard_of(FrameIndex frame) noexcept {
    return shards_[raw(frame) / frames_per_shard_];
  }

  std::uint32_t frames_per_shard_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::uint32_t> count_;
};

}  // namespace palimpsest::buffer
