// Crashes everywhere: runs workloads on a simulated disk, and at each write, sync and change of the
// directory records the state of disk and history. Each such point is damaged in several ways and
// recovered; the result is judged; the engine goes on from there; and both, recovery and going on,
// are crashed again, down to a given depth.
//
// Judged of every state (engine: everything that recovery promises):
// - the content is that of the first k transactions, k between those acknowledged and those that
//   had begun to commit;
// - what an interrupted recovery has decided stays decided;
// - trees sound and the space map exact; no entries;
// - every page in use whole on disk with a GSN at most the clock's;
// - a second recovery finds the same;
// - the engine goes on as the model says.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/crash/history.h"
#include "tests/crash/workload.h"
#include "tests/support/sim_disk.h"

namespace palimpsest::crash {

constexpr unsigned kDepthMost = 4;

struct CampaignOptions {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  unsigned depth = 2;            ///< crashes in a row: 1 is the workload's alone
  unsigned damages = 4;          ///< of each point of a workload: the four kinds, then random ones
  std::size_t points_below = 4;  ///< crash points in each recovery, and as many after it
  unsigned deeper_one_in = 8;    ///< of states
  int steps_after = 8;           ///< of the workload that goes on
};

struct CampaignTotals {
  std::uint64_t workloads = 0;
  std::uint64_t points = 0;
  std::uint64_t points_left = 0;                   ///< the time was over
  std::array<std::uint64_t, kDepthMost> states{};  ///< by crashes in a row
  std::uint64_t losers = 0;                        ///< rolled back by recoveries
  std::uint64_t checkpoints = 0;                   ///< of workloads, since they were opened last
  std::uint64_t segments = 0;                      ///< of the log, used again
  std::uint64_t in_doubt = 0;  ///< states that match several counts of transactions

  [[nodiscard]] std::uint64_t all_states() const;
  [[nodiscard]] std::string text() const;
};

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options) {}

  /// One workload of so many steps after its warm-up, crashed everywhere; returns the first fault,
  /// or "".
  [[nodiscard]] std::string run(const Profile& profile, std::uint64_t seed, int steps);

  [[nodiscard]] bool is_over() const {
    return std::chrono::steady_clock::now() > options_.deadline;
  }
  [[nodiscard]] const CampaignTotals& totals() const noexcept { return totals_; }

 private:
  /// A possible moment of a crash.
  struct Point {
    test::SimDisk disk;
    Window window;
    std::string where;  ///< the operation that was under way
  };
  struct Points;
  enum class Damage : std::uint8_t { nothing_kept = 1, everything_kept, killed, random };

  void note(const test::SimDisk& disk, engine::Engine& database);
  [[nodiscard]] std::string judge_all(const Profile& profile, std::uint64_t seed,
                                      const History& history, const std::vector<Point>& points);
  [[nodiscard]] std::string judge(const Profile& profile, std::uint64_t seed,
                                  const History& history, const Point& point, Damage damage,
                                  unsigned depth);
  [[nodiscard]] std::string go_deeper(const Profile& profile, std::uint64_t seed,
                                      const History& history, const std::vector<Point>& points,
                                      unsigned depth);
  [[nodiscard]] static test::SimDisk damaged(const test::SimDisk& disk, Damage damage,
                                             std::uint64_t seed);
  [[nodiscard]] std::string judge_recovered(const test::SimDisk& disk, engine::Engine& database,
                                            const State& found, bool again) const;
  [[nodiscard]] std::string judge_pages(const test::SimDisk& disk, engine::Engine& database) const;
  [[nodiscard]] std::string recover_again(const test::SimDisk& disk, const State& found) const;

  const CampaignOptions options_;
  CampaignTotals totals_;
};

}  // namespace palimpsest::crash
