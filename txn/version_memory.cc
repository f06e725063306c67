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

/// Before somebody who waits looks whether others have made room.
constexpr auto kPatience = std::chrono::milliseconds(1);
/// Before somebody is refused: snapshots that are being taken hold versions back and cannot be
/// cancelled, and the oldest one may have ended just when it was to be.
constexpr auto kPatienceWithSnapshots = std::chrono::milliseconds(20);
/// Before a reader is cancelled: writers that are in the way of folding may end, although their
/// threads share processors with others.
constexpr auto kPatienceWithWriters = std::chrono::milliseconds(100);
/// Such a share of all the oldest of them may take beyond the limit.
constexpr std::uint64_t kOverdraft = 16;
/// Mapping tables that are looked at in the background at a time when there are many.
constexpr std::size_t kTablesAtATime = 2048;
/// And by somebody who waits for room: all of them would take longer than others should wait.
constexpr std::size_t kTablesBeforeCancelling = 16384;
/// And again, as long as that frees such a share of all there is.
constexpr std::uint64_t kWorthOn = 64;
/// In the background they are gone through again when so large a share of all more is in use than
/// when that was done last: what was made since may be folded (versioning/spans.h).
constexpr std::uint64_t kWorthFolding = 16;
/// Looking for tables that can go, in the background: for so long, or at so many pages, with pauses
/// between these.
constexpr auto kLook = std::chrono::milliseconds(2);
constexpr std::uint32_t kPagesAtALook = 16384;
constexpr auto kPauseMin = std::chrono::milliseconds(50);
constexpr auto kPauseMax = std::chrono::milliseconds(1000);
/// Memory that was not needed for so long is given back: an old reader fills it, is cancelled, and
/// begins again, within seconds.
constexpr auto kIdle = std::chrono::seconds(5);
/// To collect all versions up to a horizon, before tables are gone through although some are left.
constexpr int kTriesMax = 16;

}  // namespace

void VersionMemory::require_room(const versioning::VersionBuffer& asking) {
  if (asking.new_bytes() > bytes_max_ / 2) {
    throw Error(ErrorCode::version_budget_exceeded,
                fmt::format("the changes of one transaction take {} bytes of versions, more than "
                            "half of the {} that there are for all (version_bytes_max); a bulk "
                            "transaction takes none",
                            asking.new_bytes(), bytes_max_));
  }
  if (!is_full()) [[likely]] {
    return;
  }
  // Others may take the room that was made at once: who has made some goes on.
  bool has_room = false;
  for (bool is_done = false; !is_done;) {
    const std::unique_lock lock(mutex_, kPatience);
    has_room = lock.owns_lock() ? make_room(asking) : !is_full() || may_overdraw(asking);
    is_done = lock.owns_lock() || has_room;
  }
  PALIMPSEST_SYNC_POINT("txn.room.made");
  if (!has_room) {
    throw Error(ErrorCode::version_budget_exceeded,
                fmt::format("{} transactions that have not ended have changed more than {} bytes "
                            "of versions can remember (version_bytes_max)",
                            transactions_.active(), bytes_max_));
  }
}

bool VersionMemory::may_overdraw(const versioning::VersionBuffer& asking) const noexcept {
  return memory_.bytes_in_use() < bytes_max_ + bytes_max_ / kOverdraft &&
         transactions_.folding_waits_for() == &asking;
}

// A little more than what is needed now, and not all: others wait meanwhile. If there was room at
// any time, whoever has taken it since, it was enough.
bool VersionMemory::make_room(const versioning::VersionBuffer& asking) {
  if (!is_full()) {
    return true;  // somebody else has made some
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
    do {  // what can be folded is, rather than that a snapshot goes
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
  transactions_.prune_tables([&] { return !is_full(); });  // who asks will be refused
  return had_room || !is_full();
}

// With an old reader the horizon stands still, and going through all tables again frees little but
// what was made since and can be folded, while it takes the memory's bandwidth and a processor.
// False if that has been done. Not before the versions up to there have gone, for an entry stays as
// long as it has one; but owners who are in the way of that do not put it off for ever.
bool VersionMemory::prune_for_horizon() noexcept {
  const bool has_grown =
      tables_left_ == 0 && memory_.bytes_in_use() > pruned_to_bytes_ + bytes_max_ / kWorthFolding;
  if (collected_for_ != pruned_for_ || has_grown) {
    pruned_for_ = collected_for_;
    tables_left_ = memory_.tables();
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
