#include "txn/view.h"

#include <limits>

#include "palimpsest/error.h"

namespace palimpsest::txn {
namespace {

/// Who writes onto the newest committed state has seen all of it.
constexpr Gsn kAllCommitted{std::numeric_limits<std::uint64_t>::max()};

}  // namespace

std::string_view name_of(Isolation isolation) noexcept {
  switch (isolation) {
    case Isolation::none: return "none";
    case Isolation::read_committed: return "read_committed";
    case Isolation::snapshot: return "snapshot";
    case Isolation::serializable: return "serializable";
  }
  return "unknown";
}

void View::begin(Isolation isolation, SnapshotUse use, const versioning::Fate* mine) noexcept {
  isolation_ = isolation;
  viewer_ = {kAllCommitted, mine};
  if (has_one_snapshot(isolation)) {
    take(use);
  }
}

void View::take(SnapshotUse use) noexcept {
  viewer_.snapshot = snapshots_.take(slot_, use);
  viewer_.settled = snapshots_.settled(slot_);
  slots_[slot_].merge(viewer_.snapshot);
}

void View::drop() noexcept {
  snapshots_.drop(slot_);
  viewer_.snapshot = kAllCommitted;
  viewer_.settled = Gsn{0};
}

void View::refuse() {
  throw Error(ErrorCode::snapshot_too_old,
              "what the transaction sees is remembered no longer: memory for versions, or the log, "
              "had run out, and no transaction had an older snapshot");
}

}  // namespace palimpsest::txn
