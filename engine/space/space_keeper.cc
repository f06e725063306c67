#include "engine/space/space_keeper.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/start_thread.h"
#include "base/sync_point.h"
#include "btree/btree.h"

namespace palimpsest::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kPauseBetween = std::chrono::milliseconds(500);
/// After a step it sleeps this many times as long as the step took.
constexpr int kRestShare = 3;
/// Walks through all leaves of a tree when this share of it, and this many bytes, have been
/// removed.
constexpr std::uint64_t kGhostShare = 8;
constexpr std::uint64_t kGhostBytesMin = std::uint64_t{1} << 20U;
/// Moves pages when this share of the file, and this many bytes, are free.
constexpr std::uint64_t kFreeShare = 2;
constexpr std::uint64_t kFreeBytesMin = std::uint64_t{8} << 20U;
/// Up to this share of the pages in use may change between two looks without counting as a change.
constexpr std::uint64_t kChangeShare = 16;
constexpr std::uint64_t kPurgedTogether = 256;
constexpr std::uint32_t kLeavesTogether = 512;

/// Ends a compaction.
struct Stopped {};

/// Whether this much of the tree was removed and not purged; if so, counting starts again.
bool is_worth_walking(const btree::BTree& tree) {
  const std::uint64_t leaves = tree.structure().approximate_leaves();
  return tree.dead().take(leaves * tree.descent().page_size() / kGhostShare);
}

}  // namespace

SpaceKeeper::~SpaceKeeper() {
  stop();
}

void SpaceKeeper::start() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = false;
  }
  thread_ = start_thread("that gives space back", [this] { work(); });
}

void SpaceKeeper::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SpaceKeeper::work() {
  while (sleep(kPauseBetween)) {
    static_cast<void>(try_step());
  }
}

bool SpaceKeeper::try_step() noexcept {
  try {
    const bool any = step();
    has_failed_ = false;
    return any;
  } catch (const Stopped&) {
    return false;
  } catch (const std::exception& error) {  // the next writer meets the same error
    report_failure(error.what());
    return false;
  }
}

/// Once, until a step succeeds.
void SpaceKeeper::report_failure(const char* cause) noexcept {
  if (!std::exchange(has_failed_, true)) {
    log_to(parts_.report, LogLevel::warning, component::kSpace,
           "free space could not be given back; it is tried again",
           {{"cause", std::string_view(cause)}});
  }
}

bool SpaceKeeper::step() {
  PALIMPSEST_SYNC_POINT("engine.space.looked");
  parts_.space.complete_frees();
  const bool has_purged = purge_ghosts();
  const bool has_cut = cut_tail();
  return compact() || has_cut || has_purged;
}

// A transaction that has removed something and has not ended began before the noted moment: the
// clock is raised above everything appended.
void SpaceKeeper::note_ghost_leaf() {
  for (const TreeId id : parts_.trees.with_dead(kGhostBytesMin)) {
    const btree::BTree* const tree = parts_.trees.find(id);
    if (tree != nullptr && is_worth_walking(*tree)) {
      parts_.transactions.cover_all_appended();
      dead_[id] = parts_.transactions.now();
    }
  }
}

bool SpaceKeeper::purge_ghosts() {
  note_ghost_leaf();
  if (dead_.empty()) {
    return false;
  }
  const Gsn horizon = parts_.transactions.horizon();
  bool any = false;
  for (auto next = dead_.begin(); next != dead_.end();) {
    const auto [id, noted] = *next;
    if (noted <= horizon) {
      purge(id);
      any = true;
      next = dead_.erase(next);
    } else {
      ++next;
    }
  }
  return any;
}

void SpaceKeeper::purge(TreeId id) {
  btree::GhostWalk walk{.leaves_max = kLeavesTogether};
  for (bool more = true; more;) {
    const auto begun = SteadyClock::now();
    walk.pages_wanted = walk.pages + kPurgedTogether;
    more = in_steps(parts_.transactions, [&](const btree::WriteContext& context) {
      btree::BTree* const tree = parts_.trees.find(id);
      return tree != nullptr && tree->purge_ghosts(context, walk);
    });
    rest_after(begun);
  }
}

bool SpaceKeeper::cut_tail() {
  const std::uint64_t tail = parts_.space.free_tail_pages();
  const std::uint64_t worth = parts_.space.growth_pages() + 1;
  const bool is_lasting = std::min(tail, tail_before_) >= worth;
  tail_before_ = tail;
  return is_lasting && parts_.cut_tail(worth) != 0;
}

bool SpaceKeeper::compact() {
  const buffer::SpaceMap::Counts counts = parts_.space.counts();
  const std::uint64_t before = std::exchange(in_use_before_, counts.allocated);
  const std::uint64_t change =
      std::max(before, counts.allocated) - std::min(before, counts.allocated);
  const bool is_quiet = before != 0 && change <= before / kChangeShare;
  const bool is_worth = counts.free >= (counts.free + counts.allocated) / kFreeShare &&
                        counts.free * parts_.file.page_size_bytes() >= kFreeBytesMin;
  const bool was_tried = compacted_at_ != 0 && counts.allocated * 2 > compacted_at_;
  if (!is_quiet || !is_worth || was_tried) {
    compacted_at_ = is_worth ? compacted_at_ : 0;
    return false;
  }
  auto begun = SteadyClock::now();
  const CompactionOptions options{.progress = [&](const CompactionProgress&) {
    rest_after(begun);
    begun = SteadyClock::now();
  }};
  Compaction compaction(parts_, options);
  compaction.leave_ghosts();
  static_cast<void>(compaction.run());
  compacted_at_ = std::max<std::uint64_t>(parts_.space.counts().allocated, 1);
  return true;
}

void SpaceKeeper::rest_after(SteadyClock::time_point begun) {
  if (!sleep(kRestShare * (SteadyClock::now() - begun))) {
    throw Stopped();
  }
}

// False if the thread is to stop.
bool SpaceKeeper::sleep(SteadyClock::duration pause) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, pause, [this] { return stopping_; });
  return !stopping_;
}

}  // namespace palimpsest::engine
