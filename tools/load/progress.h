// How far a load is, or a copy, on stderr while it runs: a bar, lines every few seconds, or JSON
// lines.
//
// Thread-safety: the counters are written and read from any thread; a Progress is made and ended by
// one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "tools/load/stage_clock.h"

namespace palimpsest::load {

enum class Phase : std::uint8_t { opening = 1, rows, sorted, commit, undoing, closing, copying };

[[nodiscard]] std::string_view name_of(Phase phase) noexcept;

/// What is known of a load's one transaction.
enum class CommitState : std::uint8_t {
  none = 1,  ///< the table is as it was
  done,      ///< the rows are loaded, and survive any crash
  unknown,   ///< the database has failed meanwhile: opening it again will tell
};

/// How far a load is at a moment.
struct Reached {
  std::uint64_t bytes_taken = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t rows = 0;
  std::uint64_t rows_put = 0;
  std::uint64_t rows_sorted = 0;
  std::uint64_t faults = 0;
  Phase phase = Phase::opening;
  StageTimes stages{};
};

/// Written by the load. Of a copy there are bytes only.
struct Counters {
  [[nodiscard]] Reached reached() const;

  std::atomic<std::uint64_t> bytes_taken = 0;  ///< of the files, compressed or not
  std::atomic<std::uint64_t> bytes_total = 0;  ///< of the files; 0: not known
  std::atomic<std::uint64_t> rows = 0;
  std::atomic<std::uint64_t> rows_put = 0;     ///< that are in the table, or were left out of it
  std::atomic<std::uint64_t> rows_sorted = 0;  ///< that are put in the phase of sorted rows
  std::atomic<std::uint64_t> rows_kept = 0;    ///< sorted, for another load to go on with
  std::atomic<std::uint64_t> faults = 0;
  std::atomic<Phase> phase = Phase::opening;
  std::atomic<CommitState> commit = CommitState::none;
  StageClock stages{};
};

enum class ProgressMode : std::uint8_t {
  none = 1,
  automatic,  ///< a bar on a terminal, else lines
  bar,
  lines,
  json,
};

class Progress {
 public:
  Progress(ProgressMode mode, const Counters& counters);
  /// Of several loads together: `reached` is called from a thread of its own.
  Progress(ProgressMode mode, std::function<Reached()> reached);
  /// Takes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  /// Rates since the beginning, and how far the phase is: when it will end, as it has gone so far.
  struct Speed {
    double rows_per_second = 0;
    double megabytes_per_second = 0;
    std::optional<double> percent{};
    std::optional<double> seconds_left{};
  };

  void run();
  void show();
  [[nodiscard]] Speed speed(const Reached& now) const;
  [[nodiscard]] std::string bar(const Reached& now, const Speed& speed) const;
  [[nodiscard]] std::string line(const Reached& now, const Speed& speed) const;
  [[nodiscard]] std::string json(const Reached& now, const Speed& speed) const;
  /// What was waited for most since it was shown before.
  [[nodiscard]] Stage stage(const Reached& now) const { return now.stages.since(shown_).longest(); }

  ProgressMode mode_;
  std::function<Reached()> reached_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point phase_begin_ = begin_;  ///< as far as it was noticed
  Phase phase_ = Phase::opening;            ///< as the last time
  StageTimes shown_{};                      ///< as the last time
  std::mutex mutex_{};
  std::condition_variable ended_{};
  bool at_end_ = false;
  std::thread thread_{};
};

}  // namespace palimpsest::load
