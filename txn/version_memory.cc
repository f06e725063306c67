#include "txn/version_memory.h"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <mutex>

#include "palimpsest/error.h"

#include "txn/transactions.h"

namespace palimpsest::txn {
namespace {

/// Before somebody who waits looks whether others have made room.
constexpr auto kPatience = std::chrono::milliseconds(1);
/// Whose tables the engine looks at in the background.
constexpr std::size_t kPagesAtATime = 2048;
/// Those of which somebody looks at who waits for room: of all it would take longer than they wait.
constexpr std::size_t kPagesBeforeCancelling = 16384;

}  // namespace

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
  while (is_full()) {
    const std::unique_lock lock(mutex_, kPatience);
    if (lock.owns_lock()) {
      make_room();
      break;
    }
  }
  if (is_full()) {
    throw Error(ErrorCode::version_budget_exceeded,
                fmt::format("{} transactions that have not ended have changed more than {} bytes "
                            "of versions can remember (version_bytes_max)",
                            transactions_.active(), bytes_max_));
  }
}

// A little more than what is needed now, and not all: others wait meanwhile.
void VersionMemory::make_room() {
  if (!is_full()) {
    return;  // somebody else has made some
  }
  const std::uint64_t goal = bytes_max_ - bytes_max_ / 16;
  const auto is_enough = [&] { return memory_.bytes_in_use() <= goal; };
  const auto free_some = [&] {
    transactions_.collect_versions(is_enough);
    transactions_.trim_idle();
    std::size_t pages = kPagesBeforeCancelling;
    transactions_.prune_tables([&] { return is_enough() || pages-- == 0; });
  };
  free_some();
  while (is_full() && transactions_.cancel_oldest_snapshot()) {
    cancelled_.fetch_add(1, std::memory_order_relaxed);
    free_some();
  }
}

void VersionMemory::keep_room() noexcept {
  std::size_t pages = kPagesAtATime;
  if (memory_.bytes_in_use() > bytes_max_ / 2) {
    transactions_.prune_tables([&] { return pages-- == 0; });
  }
}

}  // namespace palimpsest::txn
