#include "btree/prefetch_leaves.h"

#include <algorithm>
#include <vector>

namespace palimpsest::btree {
namespace {

// Loads `leaves` together, and drops those for which nothing is left to do.
void prefetch_together(buffer::BufferPool& pool, std::vector<Sought>& leaves,
                       std::vector<buffer::BufferPool::Load>& loads) {
  for (std::uint32_t round = 0; round <= kLevelMax; ++round) {
    std::erase_if(
        leaves, [&](const Sought& leaf) { return leaf.tree->begin_load(Target{leaf.key}, loads); });
    if (loads.empty()) {
      return;
    }
    pool.finish_loads(loads);
  }
}

}  // namespace

void prefetch_leaves(std::span<const Sought> leaves) {
  if (leaves.empty()) {
    return;
  }
  buffer::BufferPool& pool = leaves.front().tree->pool();
  const std::size_t loads_max =
      std::clamp<std::size_t>(pool.frame_count() / 16, 1, buffer::PageLoader::kLoadsMax);
  std::vector<buffer::BufferPool::Load> loads;
  std::vector<Sought> now;
  while (!leaves.empty()) {
    const auto next = leaves.first(std::min(leaves.size(), loads_max));
    now.assign(next.begin(), next.end());
    prefetch_together(pool, now, loads);
    leaves = leaves.subspan(next.size());
  }
}

}  // namespace palimpsest::btree
