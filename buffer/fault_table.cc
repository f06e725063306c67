#include "buffer/fault_table.h"

#include <algorithm>

namespace palimpsest::buffer {

FaultTable::Lookup FaultTable::find_in(const Shard& shard, PageId page) const noexcept {
  for (const Entry& entry : shard.entries) {
    if (entry.page == page) {
      const auto state = frames_[entry.frame].state.load(std::memory_order_relaxed);
      return {state == FrameState::ready ? Found::ready : Found::loading, entry.frame};
    }
  }
  return {};
}

void FaultTable::erase(Shard& shard, PageId page) noexcept {
  const auto entry = std::ranges::find(shard.entries, page, &Entry::page);
  check(entry != shard.entries.end(), "a page being loaded has an entry");
  *entry = shard.entries.back();
  shard.entries.pop_back();
}

FaultTable::Lookup FaultTable::insert(PageId page, FrameIndex frame) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  const Lookup there = find_in(shard, page);
  if (there.found == Found::nothing) {
    shard.entries.push_back({page, frame});
  }
  return there;
}

FaultTable::Lookup FaultTable::find(PageId page) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  return find_in(shard, page);
}

void FaultTable::mark_ready(PageId page, FrameIndex frame) {
  const std::scoped_lock lock(shard_of(page).mutex);
  frames_[frame].state.store(FrameState::ready, std::memory_order_release);
}

void FaultTable::remove_loading(PageId page, FrameIndex frame) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  PALIMPSEST_DEBUG_CHECK(find_in(shard, page).frame == frame, "the entry is the caller's");
  erase(shard, page);
}

FrameIndex FaultTable::claim_ready(PageId page) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  const Lookup there = find_in(shard, page);
  if (there.found != Found::ready) {
    return kNoFrame;
  }
  frames_[there.frame].state.store(FrameState::loading, std::memory_order_release);
  return there.frame;
}

bool FaultTable::take_ready(PageId page, FrameIndex expected) {
  Shard& shard = shard_of(page);
  const std::scoped_lock lock(shard.mutex);
  const Lookup there = find_in(shard, page);
  if (there.found != Found::ready || there.frame != expected) {
    return false;
  }
  erase(shard, page);
  return true;
}

}  // namespace palimpsest::buffer
