#include "tests/crash/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/aligned_memory.h"
#include "buffer/page_header.h"

namespace palimpsest::crash {

using test::CrashKeeps;
using test::SimDisk;
using test::SimOperation;

/// Collects the states of a disk during its use. The hook may still run in a thread of the engine
/// after its removal: its data lives as long as the hook, and its late points are dropped.
struct Campaign::Points {
  Points(SimDisk& the_disk, const std::shared_ptr<History>& history) : disk(the_disk) {
    // A transaction acknowledged before the snapshot must be in it, and one that has begun to
    // commit by the snapshot's end may be.
    disk.set_hook([into = collected, history, &the_disk](const SimOperation& operation) {
      const std::size_t acknowledged = history->window().acknowledged;
      SimDisk snapshot = the_disk.snapshot();
      const std::size_t begun = history->window().begun;
      const std::lock_guard lock(into->mutex);
      if (!into->taken) {
        into->all.push_back({std::move(snapshot),
                             {acknowledged, begun},
                             fmt::format("{} of {} at {}", static_cast<unsigned>(operation.kind),
                                         operation.file, operation.offset_bytes)});
      }
    });
  }
  ~Points() { static_cast<void>(take()); }
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  /// Ends the collection.
  std::vector<Point> take() {
    disk.set_hook({});
    const std::lock_guard lock(collected->mutex);
    collected->taken = true;
    return std::move(collected->all);
  }

  struct Collected {
    std::mutex mutex;
    bool taken = false;      ///< protected by mutex
    std::vector<Point> all;  ///< protected by mutex
  };
  SimDisk& disk;
  const std::shared_ptr<Collected> collected = std::make_shared<Collected>();
};

std::uint64_t CampaignTotals::all_states() const {
  return std::accumulate(states.begin(), states.end(), std::uint64_t{0});
}

std::string CampaignTotals::text() const {
  return fmt::format(
      "{} workloads, {} crash points ({} left), {} states: {} after one crash, {} after two, {} "
      "after three, {} after more; {} losers rolled back, {} outcomes in doubt, {} checkpoints, {} "
      "segments reused",
      workloads, points, points_left, all_states(), states[0], states[1], states[2], states[3],
      losers, in_doubt, checkpoints, segments);
}

std::string Campaign::run(const Profile& profile, std::uint64_t seed, int steps) {
  ++totals_.workloads;
  SimDisk disk({.seed = seed});
  std::shared_ptr<History> history;
  std::vector<Point> points;
  try {
    Workload workload(disk, profile, seed);
    history = workload.history();
    std::optional<Points> collected;
    if (profile.warm_up == 0) {
      collected.emplace(disk, history);
    }
    workload.open();
    for (int i = 0; i < profile.warm_up; ++i) {
      workload.step();
    }
    if (!collected) {
      collected.emplace(disk, history);
    }
    for (int i = 0; i < steps; ++i) {
      workload.step();
    }
    workload.finish();
    note(disk, workload.database());
    workload.close();
    points = collected->take();
  } catch (const std::exception& error) {
    return fmt::format("the workload itself: {}", error.what());
  }
  totals_.points += points.size();
  return judge_all(profile, seed, *history, points);
}

void Campaign::note(const SimDisk& disk, engine::Engine& database) {
  const auto files = disk.device()->list();
  const auto there = static_cast<std::uint64_t>(std::ranges::count_if(
      files, [](const std::string& name) { return name.starts_with("log-0"); }));
  const std::uint64_t used = database.log().end_position() / campaign_options().log_segment_bytes;
  totals_.segments += used - std::min(used, there);
  totals_.checkpoints += database.checkpointer().statistics().cycles;
}

std::string Campaign::judge_all(const Profile& profile, std::uint64_t seed, const History& history,
                                const std::vector<Point>& points) {
  // In any order: the points for which there is time come from all parts of the workload. At least
  // one point, however late it is.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, Random(seed));
  for (std::size_t judged = 0; judged < order.size(); ++judged) {
    if (judged != 0 && is_over()) {
      totals_.points_left += order.size() - judged;
      break;
    }
    const std::size_t i = order[judged];
    for (unsigned n = 0; n < options_.damages; ++n) {
      const auto damage = static_cast<Damage>(std::min(n + 1, 4U));
      const std::uint64_t point_seed = seed * 1'000'003 + i * 101 + n;
      if (std::string fault = judge(profile, point_seed, history, points[i], damage, 1);
          !fault.empty()) {
        return fmt::format("point {} of {} ({}), damage {}: {}", i, points.size(), points[i].where,
                           n, fault);
      }
    }
  }
  return "";
}

SimDisk Campaign::damaged(const SimDisk& disk, Damage damage, std::uint64_t seed) {
  switch (damage) {
    case Damage::nothing_kept: return disk.crash(seed, CrashKeeps::nothing);
    case Damage::everything_kept: return disk.crash(seed, CrashKeeps::everything);
    case Damage::killed: return disk.kill(seed);
    case Damage::random: break;
  }
  return disk.crash(seed, CrashKeeps::random);
}

/// Checks what must hold of any database that was just recovered to this content.
std::string Campaign::judge_recovered(const SimDisk& disk, engine::Engine& database,
                                      const State& found, bool again) const {
  if (const auto sound = engine::test::sound(database); !sound) {
    return sound.message();
  }
  if (const std::uint64_t entries = database.entries().entries(); entries != 0) {
    return fmt::format("{} entries of records after recovery", entries);
  }
  if (std::string fault = judge_pages(disk, database); !fault.empty()) {
    return fault;
  }
  if (again) {
    if (std::string fault = recover_again(disk, found); !fault.empty()) {
      return "recovered twice: " + fault;
    }
  }
  return "";
}

std::string Campaign::judge(const Profile& profile, std::uint64_t seed, const History& history,
                            const Point& point, Damage damage, unsigned depth) {
  ++totals_.states[std::min(depth, kDepthMost) - 1];
  Random random(seed);
  const bool killed = damage == Damage::killed;
  SimDisk disk = damaged(point.disk, damage, seed);
  const bool deeper = depth < options_.depth && random.one_in(options_.deeper_one_in);
  std::vector<Point> in_recovery;
  std::vector<Point> later;
  std::shared_ptr<History> new_history;
  Window settled = point.window;
  try {
    Workload workload(disk, profile, seed);
    std::optional<Points> points;
    if (deeper) {
      points.emplace(disk, workload.history());
    }
    workload.open();
    if (deeper) {
      in_recovery = points->take();
    }
    engine::Engine& database = workload.database();
    totals_.losers += database.recovery().losers;
    const State found = state_of(database);
    const auto count = history.count_of(found, point.window);
    if (!count) {
      return history.explain(found, point.window);
    }
    totals_.in_doubt += point.window.begun != point.window.acknowledged ? 1U : 0U;
    if (!killed) {
      settled = {*count, *count};  // nothing was in a cache: recovery had no choice
    }
    if (std::string fault = judge_recovered(disk, database, found, random.one_in(4));
        !fault.empty()) {
      return fault;
    }
    if (deeper || random.one_in(4)) {
      workload.go_on_from(found);
      new_history = workload.history();
      if (deeper) {
        points.emplace(disk, new_history);
      }
      for (int i = 0; i < options_.steps_after; ++i) {
        workload.step();
      }
      workload.finish();
      if (random.one_in(2)) {
        workload.close();
      }
      if (deeper) {
        later = points->take();
      }
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  for (Point& inner : in_recovery) {
    inner.window = settled;
  }
  if (std::string fault = go_deeper(profile, seed + 1, history, in_recovery, depth);
      !fault.empty()) {
    return "crash in recovery: " + fault;
  }
  if (new_history != nullptr) {
    if (std::string fault = go_deeper(profile, seed + 2, *new_history, later, depth);
        !fault.empty()) {
      return "crash after recovery: " + fault;
    }
  }
  return "";
}

std::string Campaign::go_deeper(const Profile& profile, std::uint64_t seed, const History& history,
                                const std::vector<Point>& points, unsigned depth) {
  Random random(seed);
  for (std::size_t n = 0; n < options_.points_below && !points.empty(); ++n) {
    const std::size_t i = random.below(points.size());
    const auto damage = static_cast<Damage>(1 + random.below(4));
    if (std::string fault = judge(profile, random(), history, points[i], damage, depth + 1);
        !fault.empty()) {
      return fmt::format("point {} of {} ({}), damage {}: {}", i, points.size(), points[i].where,
                         static_cast<unsigned>(damage) - 1, fault);
    }
  }
  return "";
}

std::string Campaign::judge_pages(const SimDisk& disk, engine::Engine& database) const {
  const std::vector<std::byte> file = disk.contents(buffer::kPageFileName);
  const std::size_t page_size = database.file().page_size_bytes();
  const Gsn now = database.begin()->commit();  // of an empty transaction: the clock's reading
  const AlignedMemory page(page_size, 64);
  for (std::uint64_t id = raw(database.file().first_page()); (id + 1) * page_size <= file.size();
       ++id) {
    const ConstBytes image(file.data() + id * page_size, page_size);
    const auto fault = buffer::verify_page(image, PageId{id});
    if (fault == buffer::PageFault::none && buffer::header_of(image).gsn > now) {
      return fmt::format("page {} has GSN {}, and the clock stands at {}", id,
                         raw(buffer::header_of(image).gsn), raw(now));
    }
  }
  return "";
}

std::string Campaign::recover_again(const SimDisk& disk, const State& found) const {
  SimDisk again = disk.crash(1, CrashKeeps::nothing);
  try {
    const auto device = again.device();
    const auto database = engine::Engine::open(*device, *device, campaign_options());
    std::string fault = difference(state_of(*database), found);
    again.power_off();
    return fault;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace palimpsest::crash
