#include "txn/version_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "txn/transactions.h"

namespace palimpsest::txn {
namespace {

/// How long a thread that waits for room sleeps before it looks again.
constexpr auto kPatience = std::chrono::milliseconds(1);
/// Waited before a transaction is refused: snapshots being taken hold versions back and cannot be
/// cancelled, and the oldest one may have ended just before it was to be cancelled.
constexpr auto kPatienceWithSnapshots = std::chrono::milliseconds(20);
/// Waited before a reader is cancelled: writers that obstruct folding may end, although their
/// threads share processors with other threads.
constexpr auto kPatienceWithWriters = std::chrono::milliseconds(100);
/// The oldest writer may exceed the bound by 1/kOverdraft of it.
constexpr std::uint64_t kOverdraft = 16;
/// Mapping tables visited at a time in the background, when there are many.
constexpr std::size_t kTablesAtATime = 2048;
/// Mapping tables visited by a thread that waits for room: all would take longer than other threads
/// should wait.
constexpr std::size_t kTablesBeforeCancelling = 16384;
/// That thread repeats the visit as long as it frees 1/kWorthOn of the bound.
constexpr std::uint64_t kWorthOn = 64;
/// In the background all tables are visited again when 1/kWorthFolding of the bound more is in use
/// than after the last visit: what was made since may be folded (versioning/spans.h).
constexpr std::uint64_t kWorthFolding = 16;
/// Looking for unneeded tables in the background: for at most kLook, or at kPagesAtALook pages,
/// with pauses in between.
constexpr auto kLook = std::chrono::milliseconds(2);
constexpr std::uint32_t kPagesAtALook = 16384;
constexpr auto kPauseMin = std::chrono::milliseconds(50);
constexpr auto kPauseMax = std::chrono::milliseconds(1000);
/// Memory idle for this long is returned to the system. Shorter would not pay: an old reader fills
/// it, is cancelled, and begins again, within seconds.
constexpr auto kIdle = std::chrono::seconds(5);
/// Attempts to collect all versions up to a horizon, before tables are visited although some are
/// left.
constexpr int kTriesMax = 16;

}  // namespace

void VersionMemory::require_room(const versioning::VersionBuffer& asking) {
  if (asking.new_bytes() > bytes_max_ / 2) {
    throw Error(
        ErrorCode::version_budget_exceeded,
        fmt::format("the changes of one transaction take {} bytes of versions, more than half of "
                    "the {} allowed for all transactions (version_bytes_max): change fewer rows "
                    "per transaction, or use a bulk transaction, which keeps no versions",
                    asking.new_bytes(), bytes_max_));
  }
  if (!is_full()) [[likely]] {
    return;
  }
  // Other threads may take the room at once: a thread that has made some goes on.
  bool has_room = false;
  for (bool is_done = false; !is_done;) {
    const std::unique_lock lock(mutex_, kPatience);
    has_room = lock.owns_lock() ? make_room(asking) : !is_full() || may_overdraw(asking);
    is_done = lock.owns_lock() || has_room;
  }
  PALIMPSEST_SYNC_POINT("txn.room.made");
  if (!has_room) {
    throw Error(
        ErrorCode::version_budget_exceeded,
        fmt::format("{} transactions that have not ended have filled the {} bytes of memory for "
                    "versions (version_bytes_max): end some of them, or raise the limit",
                    transactions_.active(), bytes_max_));
  }
}

bool VersionMemory::may_overdraw(const versioning::VersionBuffer& asking) const noexcept {
  return memory_.bytes_in_use() < bytes_max_ + bytes_max_ / kOverdraft &&
         transactions_.folding_waits_for() == &asking;
}

// Frees a little more than is needed now, but not all that can be freed, because other threads wait
// meanwhile. Succeeds if there was room at any time, even if another thread has taken it since.
bool VersionMemory::make_room(const versioning::VersionBuffer& asking) {
  if (!is_full()) {
    return true;  // another thread has made room
  }
  const std::uint64_t goal = bytes_max_ - bytes_max_ / 16;
  bool had_room = false;
  const auto is_enough = [&] {
    const std::uint64_t in_use = memory_.bytes_in_use();
    had_room = had_room || in_use < bytes_max_;
    return in_use <= goal;
  };
  const auto free_some = [&] {
    transactions_.collect_versions(is_enough);
    transactions_.trim_idle();
    std::uint64_t before = 0;
    do {  // fold all that can be folded before cancelling a snapshot
      before = memory_.bytes_in_use();
      std::size_t tables = 0;
      transactions_.prune_tables([&] { return is_enough() || ++tables > kTablesBeforeCancelling; });
    } while (!is_enough() && memory_.bytes_in_use() + bytes_max_ / kWorthOn < before);
  };
  free_some();
  const auto begun = std::chrono::steady_clock::now();
  for (bool gives_up = false; !gives_up;) {
    if (had_room || !is_full() || may_overdraw(asking)) {
      return true;
    }
    const auto waited = std::chrono::steady_clock::now() - begun;
    const auto* const writer = transactions_.folding_waits_for();
    if (writer != nullptr && writer != &asking && waited < kPatienceWithWriters) {
      std::this_thread::sleep_for(kPatience);
    } else if (transactions_.cancel_oldest_snapshot()) {
      cancelled_.fetch_add(1, std::memory_order_relaxed);
    } else if (waited < kPatienceWithSnapshots) {
      std::this_thread::sleep_for(kPatience);
    } else {
      gives_up = true;
    }
    free_some();
  }
  transactions_.prune_tables([&] { return !is_full(); });  // the asking transaction will be refused
  return had_room || !is_full();
}

// With an old reader the horizon stands still, and visiting all tables again frees little but what
// was made since and can be folded, while it takes memory bandwidth and a processor: so once per
// horizon. Returns false if that has been done. Starts only when the versions up to the horizon are
// gone, as an entry stays as long as it has a version; but owners that obstruct this do not delay
// it for ever (kTriesMax).
bool VersionMemory::prune_for_horizon() noexcept {
  const bool has_grown =
      tables_left_ == 0 && memory_.bytes_in_use() > pruned_to_bytes_ + bytes_max_ / kWorthFolding;
  if (collected_for_ != pruned_for_ || has_grown) {
    pruned_for_ = collected_for_;
    tables_left_ = memory_.tables() + memory_.spans();  // of which some are of blocks
  }
  if (tables_left_ == 0) {
    return false;
  }
  const std::uint64_t most = std::min<std::uint64_t>(tables_left_, kTablesAtATime);
  std::uint64_t tables = 0;
  transactions_.prune_tables([&] { return tables++ >= most; });
  tables_left_ -= most;
  pruned_to_bytes_ = memory_.bytes_in_use();
  return true;
}

void VersionMemory::keep_room() noexcept {
  if (const Gsn horizon = transactions_.horizon();
      transactions_.collect_versions_aside(horizon) || ++tries_ == kTriesMax) {
    collected_for_ = horizon;
    tries_ = 0;
  }
  if (std::chrono::steady_clock::now() >= next_give_back_) {
    memory_.give_back_idle();
    next_give_back_ = std::chrono::steady_clock::now() + kIdle;
  }
  if (memory_.bytes_in_use() > bytes_max_ / 2 && prune_for_horizon()) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (memory_.tables() == 0 || now < next_look_) {
    return;
  }
  const std::uint32_t pruned = transactions_.prune_some_tables(
      kPagesAtALook, [&] { return std::chrono::steady_clock::now() > now + kLook; });
  pause_ = pruned != 0 ? kPauseMin : std::clamp(2 * pause_, kPauseMin, kPauseMax);
  next_look_ = now + pause_;
}

}  // namespace palimpsest::txn
