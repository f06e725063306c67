#include "btree/ghost_leaves.h"

#include <new>

namespace palimpsest::btree {
namespace {

constexpr std::uint64_t kMultiplier = 6364136223846793005U;  // Knuth, MMIX

}  // namespace

std::uint32_t GhostLeaves::random_below(std::uint32_t bound) noexcept {
  random_ = random_ * kMultiplier + 1442695040888963407U;
  return static_cast<std::uint32_t>(((random_ >> 32U) * bound) >> 32U);
}

// The key is the leaf's first record, or its lower fence if it has none.
void GhostLeaves::meet(const buffer::Frame& frame, const LeafView& leaf, bool has_left) noexcept {
  ++met_;
  const bool is_empty = leaf.count() == 0;
  if (is_empty && !has_left) {
    return;
  }
  const versioning::MappingTable* const table = table_of(frame);
  if (!is_empty && table != nullptr && random_below(1U << table->purges_in_vain()) != 0) {
    return;
  }
  if (random_below(++candidates_) != 0) {
    return;
  }
  try {
    key_.assign(is_empty ? leaf.lower_fence() : leaf.prefix());
    key_.append(is_empty ? ByteView() : leaf.record(0).suffix);
  } catch (const std::bad_alloc&) {
    key_.clear();
  }
}

}  // namespace palimpsest::btree
