#include "btree/ghost_run.h"

#include <algorithm>
#include <new>

#include "base/prefetch.h"
#include "btree/leaf_entries.h"
#include "btree/visible_record.h"

namespace palimpsest::btree {

namespace {

constexpr std::size_t kAhead = 8;

}  // namespace

void GhostRun::forget() noexcept {
  leaves_.clear();
  uses_ = 0;
}

bool GhostRun::is_unchanged(buffer::BufferPool& pool) const noexcept {
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

std::optional<ByteView> GhostRun::beyond(buffer::BufferPool& pool, const Start& start,
                                         const versioning::ReadView& read_view) noexcept {
  goes_on_ = true;
  if (leaves_.empty() || !begins_at(start)) [[likely]] {
    return std::nullopt;
  }
  if (read_view.snapshot < since_ || ++uses_ > kUsesMax || !is_unchanged(pool)) {
    forget();
    return std::nullopt;
  }
  return end_;
}

/// Whether the leaf is the next one that walks reach behind the run.
bool GhostRun::follows(const Start& start, const LeafView& leaf) const noexcept {
  if (start.direction == Direction::forward) {
    return leaves_.empty() ? leaf.covers(*start.bound) : leaf.lower_fence() == end_;
  }
  if (!leaves_.empty()) {
    return !leaf.upper_is_infinite() && leaf.upper_fence() == end_;
  }
  return start.bound ? leaf.lower_fence() < *start.bound &&
                           (leaf.upper_is_infinite() || *start.bound <= leaf.upper_fence())
                     : leaf.upper_is_infinite();
}

// A visitor may start a walk of its own in the same transaction, so the only assumption is checked:
// that each leaf continues the run.
void GhostRun::take_in_dead(buffer::BufferPool& pool, const Start& start,
                            const buffer::Frame& frame, const LeafView& leaf,
                            const versioning::ReadView& read_view) noexcept {
  if (!begins_at(start)) {
    forget();  // it belongs to other walks
  }
  const bool is_forward = start.direction == Direction::forward;
  const bool is_last = is_forward ? leaf.upper_is_infinite() : leaf.lower_fence().empty();
  const versioning::MappingTable* const table = table_of(frame);
  goes_on_ = follows(start, leaf) && leaves_.size() < kLeavesMax && leaf.bulk_epoch() == kNoEpoch &&
             !is_last && table != nullptr && table->purges_in_vain() >= kPurgesInVainMin &&
             (is_stable(frame, read_view) || table->is_quiet_at(read_view.snapshot));
  const auto version = frame.latch.try_optimistic();  // no thread holds it exclusively
  if (!goes_on_ || !version) {
    return;
  }
  try {
    if (leaves_.empty()) {
      tree_ = start.tree;
      direction_ = start.direction;
      bound_is_given_ = start.bound.has_value();
      bound_.assign(start.bound.value_or(ByteView()));
    }
    end_.assign(is_forward ? leaf.upper_fence() : leaf.lower_fence());
    since_ = leaves_.empty() ? read_view.snapshot : std::max(since_, read_view.snapshot);
    leaves_.push_back({pool.index_of(frame), *version});
  } catch (const std::bad_alloc&) {
    forget();
    goes_on_ = false;
  }
}

}  // namespace palimpsest::btree
