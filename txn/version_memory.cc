#include "txn/version_memory.h"

#include <fmt/format.h>

#include "palimpsest/error.h"

#include "txn/transactions.h"

namespace palimpsest::txn {

void VersionMemory::require_room(const versioning::VersionBuffer& asking) {
  if (asking.new_bytes() > bytes_max_ / 2) {
    throw Error(ErrorCode::version_budget_exceeded,
                fmt::format("the changes of one transaction take {} bytes of versions, more than "
                            "half of the {} that there are for all (version_bytes_max)",
                            asking.new_bytes(), bytes_max_));
  }
  if (!is_full()) [[likely]] {
    return;
  }
  const std::lock_guard lock(mutex_);
  make_room();
  if (is_full()) {
    throw Error(ErrorCode::version_budget_exceeded,
                fmt::format("{} transactions that have not ended have changed more than {} bytes "
                            "of versions can remember (version_bytes_max)",
                            transactions_.active(), bytes_max_));
  }
}

void VersionMemory::make_room() {
  if (!is_full()) {
    return;  // somebody else has made some
  }
  transactions_.collect_versions();
  transactions_.trim_idle();
  transactions_.prune_tables();
  while (is_full() && transactions_.cancel_oldest_snapshot()) {
    cancelled_.fetch_add(1, std::memory_order_relaxed);
    transactions_.collect_versions();
    transactions_.prune_tables();
  }
}

}  // namespace palimpsest::txn
