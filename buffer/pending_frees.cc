#include "buffer/pending_frees.h"

#include <algorithm>
#include <exception>

namespace palimpsest::buffer {

PendingFrees::PendingFrees() {
  for (Shard& shard : shards_) {
    shard.entries.reserve(kSweepMin);
  }
}

void PendingFrees::add(std::uint32_t stripe, PageRun run, Gsn gsn, Gsn durable,
                       GiveBack give_back) noexcept {
  Shard& shard = shards_[stripe % kShards];
  const std::lock_guard lock(shard.mutex);
  if (shard.entries.size() >= shard.sweep_at) {
    sweep(shard, durable, give_back);
    shard.sweep_at = std::max(kSweepMin, 2 * shard.entries.size());
  }
  try {
    shard.entries.push_back({run, gsn});
    count_.fetch_add(1, std::memory_order_relaxed);
  } catch (const std::exception&) {
    return;  // the run is forgotten, as the header says
  }
}

void PendingFrees::take_durable(Gsn durable, GiveBack give_back) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    sweep(shard, durable, give_back);
  }
}

// Caller holds the shard's mutex.
void PendingFrees::sweep(Shard& shard, Gsn durable, GiveBack give_back) noexcept {
  const auto waits = [&](const Entry& entry) { return entry.gsn > durable; };
  const auto first = std::partition(shard.entries.begin(), shard.entries.end(), waits);
  for (auto entry = first; entry != shard.entries.end(); ++entry) {
    give_back(entry->run);
  }
  count_.fetch_sub(static_cast<std::size_t>(shard.entries.end() - first),
                   std::memory_order_relaxed);
  shard.entries.erase(first, shard.entries.end());
}

Gsn PendingFrees::newest() noexcept {
  Gsn newest{0};
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (const Entry& entry : shard.entries) {
      newest = std::max(newest, entry.gsn);
    }
  }
  return newest;
}

}  // namespace palimpsest::buffer
