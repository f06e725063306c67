#include "txn/transaction_snapshot.h"

#include <limits>

#include "palimpsest/error.h"

namespace palimpsest::txn {
namespace {

/// A transaction without isolation sees, and so may overwrite, all committed changes.
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

void TransactionSnapshot::begin(Isolation isolation, SnapshotUse use,
                                const versioning::CommitStatus* mine) noexcept {
  isolation_ = isolation;
  read_view_ = {kAllCommitted, mine};
  if (has_one_snapshot(isolation)) {
    take(use);
  }
}

void TransactionSnapshot::take(SnapshotUse use) noexcept {
  read_view_.snapshot = snapshots_.take(slot_, use);
  read_view_.stable = snapshots_.stable(slot_);
  slots_[slot_].merge(read_view_.snapshot);
}

void TransactionSnapshot::drop() noexcept {
  snapshots_.drop(slot_);
  read_view_.snapshot = kAllCommitted;
  read_view_.stable = Gsn{0};
}

void TransactionSnapshot::refuse() {
  throw Error(ErrorCode::snapshot_too_old,
              "the transaction's snapshot has been cancelled: memory for versions, or the log, ran "
              "out, and no older snapshot was open");
}

}  // namespace palimpsest::txn
