#include "btree/dead_run.h"

#include <algorithm>
#include <new>

#include "base/prefetch.h"
#include "btree/leaf_entries.h"

namespace palimpsest::btree {

namespace {

constexpr std::size_t kAhead = 8;

}  // namespace

void DeadRun::forget() noexcept {
  leaves_.clear();
  uses_ = 0;
}

bool DeadRun::is_unchanged(buffer::BufferPool& pool) const noexcept {
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (i + kAhead < leaves_.size()) {
      prefetch_line(&pool.frames()[leaves_[i + kAhead].frame]);
    }
    if (!pool.remembered(leaves_[i].frame, leaves_[i].version)) {
      return false;
    }
  }
  return true;
}

std::optional<ByteView> DeadRun::beyond(buffer::BufferPool& pool, TreeId tree, ByteView lower,
                                        const versioning::Viewer& viewer) noexcept {
  goes_on_ = true;
  if (leaves_.empty() || tree_ != tree || lower_ != lower) [[likely]] {
    return std::nullopt;
  }
  if (viewer.snapshot < since_ || ++uses_ > kUsesMax || !is_unchanged(pool)) {
    forget();
    return std::nullopt;
  }
  return upper_;
}

// A visitor may walk, too, in the same transaction: nothing is taken for granted but that each leaf
// continues what is there.
void DeadRun::take_in_dead(buffer::BufferPool& pool, TreeId tree, ByteView lower,
                           const buffer::Frame& frame, const LeafView& leaf,
                           const versioning::Viewer& viewer) noexcept {
  if (tree_ != tree || lower_ != lower) {
    forget();  // of other walks
  }
  const versioning::MappingTable* const table = table_of(frame);
  const bool is_next = leaves_.empty() ? leaf.covers(lower) : leaf.lower_fence() == upper_;
  goes_on_ = is_next && leaves_.size() < kLeavesMax && leaf.bulk_epoch() == kNoEpoch &&
             !leaf.upper_is_infinite() && table != nullptr &&
             table->purges_in_vain() >= kPurgesInVainMin &&
             table->is_known_quiet_at(viewer.snapshot);
  const auto version = frame.latch.try_optimistic();  // nobody holds it exclusively
  if (!goes_on_ || !version) {
    return;
  }
  try {
    if (leaves_.empty()) {
      tree_ = tree;
      lower_.assign(lower);
    }
    upper_.assign(leaf.upper_fence());
    since_ = leaves_.empty() ? viewer.snapshot : std::max(since_, viewer.snapshot);
    leaves_.push_back({pool.index_of(frame), *version});
  } catch (const std::bad_alloc&) {
    forget();
    goes_on_ = false;
  }
}

}  // namespace palimpsest::btree
