#include "buffer/free_frames.h"

#include "base/thread_number.h"

namespace palimpsest::buffer {

FreeFrames::FreeFrames(std::uint32_t frame_count)
    : frames_per_shard_((frame_count + kShards - 1) / kShards), count_(frame_count) {
  for (std::uint32_t i = frame_count; i-- > 0;) {  // the lowest on top
    shard_of(FrameIndex{i}).frames.push_back(FrameIndex{i});
  }
}

std::size_t FreeFrames::home_shard() noexcept {
  return thread_number() % kShards;
}

std::optional<FrameIndex> FreeFrames::take() {
  const std::size_t home = home_shard();
  for (std::size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[(home + i) % kShards];
    const std::scoped_lock lock(shard.mutex);
    if (!shard.frames.empty()) {
      const FrameIndex frame = shard.frames.back();
      shard.frames.pop_back();
      count_.fetch_sub(1, std::memory_order_relaxed);
      return frame;
    }
  }
  return std::nullopt;
}

bool FreeFrames::take(std::uint32_t count, std::vector<FrameIndex>& into) {
  const std::size_t size_before = into.size();
  while (into.size() < size_before + count) {
    const auto frame = take();
    if (!frame) {
      while (into.size() > size_before) {
        give(into.back());
        into.pop_back();
      }
      return false;
    }
    into.push_back(*frame);
  }
  return true;
}

void FreeFrames::give(FrameIndex frame) {
  Shard& shard = shard_of(frame);
  const std::scoped_lock lock(shard.mutex);
  shard.frames.push_back(frame);
  count_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace palimpsest::buffer
