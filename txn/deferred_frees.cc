#include "txn/deferred_frees.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "buffer/space_record.h"

namespace palimpsest::txn {

static_assert(btree::kLargeValueRunsMax <= buffer::kSpaceRunsMax, "a value fits one record");

namespace {

/// Size of the log record that frees the value's pages.
std::size_t record_bytes(const btree::LargeValueDescriptor& value) {
  return buffer::space_record_bytes(value.runs().size());
}

std::size_t handed_over_bytes(std::span<const btree::LargeValueDescriptor> values) {
  std::size_t bytes = 0;
  for (const btree::LargeValueDescriptor& value : values) {
    bytes += wal::TransactionLog::handed_over_bytes(record_bytes(value));
  }
  return bytes;
}

}  // namespace

DeferredFrees::DeferredFrees(wal::TransactionLog& log, buffer::SpaceMap& space)
    : log_(log), space_(space) {
  log_.log().reserve(log_.slot(), {.goes_first = true});  // makes sure that the slot's log exists
}

void DeferredFrees::prepare(wal::TransactionLog& log,
                            std::span<const btree::LargeValueDescriptor> values) {
  const std::size_t bytes = handed_over_bytes(values);
  log.reserve({.change_bytes = 0, .system_bytes = 0, .later_bytes = bytes});
  {
    const std::lock_guard lock(mutex_);
    pending_.reserve(pending_.size() + announced_ + 1);
    ++announced_;
  }
  const std::lock_guard turn(appending_);
  log.hand_over(log_, bytes);
}

void DeferredFrees::forget_prepared(std::span<const btree::LargeValueDescriptor> values) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --announced_;
  }
  const std::lock_guard turn(appending_);
  log_.forget_handed_over(handed_over_bytes(values));
}

void DeferredFrees::add(Gsn commit, Gsn oldest,
                        std::vector<btree::LargeValueDescriptor>& values) noexcept {
  const std::lock_guard lock(mutex_);
  PALIMPSEST_DEBUG_CHECK(announced_ > 0 && pending_.size() < pending_.capacity(),
                         "room was reserved for each release");
  --announced_;
  pending_.push_back({.commit = commit, .oldest = oldest, .values = std::move(values)});
  values.clear();
  count_.fetch_add(1);
}

// Frees one entry at a time, and removes the entry only after its pages are free: replay's start
// does not pass it before.
bool DeferredFrees::run_due(Gsn horizon) {
  if (empty()) {
    return false;
  }
  bool any = false;
  const std::lock_guard turn(appending_);
  for (;;) {
    std::vector<btree::LargeValueDescriptor> values;
    Gsn commit{};
    {
      const std::lock_guard lock(mutex_);
      const auto due = std::ranges::find_if(pending_, [&](const Pending& pending) {
        return pending.commit <= std::min(horizon, log_.log().durable_gsn());
      });
      if (due == pending_.end()) {
        return any;
      }
      values = due->values;
      commit = due->commit;
    }
    for (const btree::LargeValueDescriptor& value : values) {
      log_.reserve_handed_over(record_bytes(value));
      append(value.runs());
    }
    log_.release_unused();
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](const Pending& pending) { return pending.commit == commit; });
    count_.fetch_sub(1);
    any = true;
  }
}

void DeferredFrees::free_now(std::span<const buffer::PageRun> runs) {
  const std::lock_guard turn(appending_);
  for (std::size_t begin = 0; begin < runs.size(); begin += buffer::kSpaceRunsMax) {
    const auto some = runs.subspan(begin, std::min(buffer::kSpaceRunsMax, runs.size() - begin));
    log_.reserve_first(buffer::space_record_bytes(some.size()));
    append(some);
  }
}

// appending_ is held; log space is reserved.
void DeferredFrees::append(std::span<const buffer::PageRun> runs) noexcept {
  const std::size_t bytes = buffer::space_record_bytes(runs.size());
  Gsn gsn{};
  {
    auto space = space_.change();
    gsn = log_.append_system(Gsn{0}, wal::BodyKind::space, bytes,
                             [&](MutableBytes into) { buffer::encode_space_record(runs, into); });
    for (const buffer::PageRun& run : runs) {
      space.give(run, gsn);
    }
  }
  for (const buffer::PageRun& run : runs) {
    space_.free_when_durable(run, gsn);
  }
}

Gsn DeferredFrees::oldest() const {
  const std::lock_guard lock(mutex_);
  Gsn oldest = kNone;
  for (const Pending& pending : pending_) {
    oldest = std::min(oldest, pending.oldest);
  }
  return oldest;
}

Gsn DeferredFrees::newest_commit(Gsn gsn) const {
  const std::lock_guard lock(mutex_);
  Gsn newest{};
  for (const Pending& pending : pending_) {
    if (pending.oldest <= gsn) {
      newest = std::max(newest, pending.commit);
    }
  }
  return newest;
}

}  // namespace palimpsest::txn
