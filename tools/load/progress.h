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
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace palimpsest::load {

enum class Phase : std::uint8_t { opening = 1, rows, sorted, commit, undoing, closing, copying };

[[nodiscard]] std::string_view name_of(Phase phase) noexcept;

/// What is known of a load's one transaction.
enum class CommitState : std::uint8_t {
  none = 1,  ///< the table is as it was
  done,      ///< the rows are loaded, and survive any crash
  unknown,   ///< the database has failed meanwhile: opening it again will tell
};

/// Written by the load. Of a copy there are bytes only.
struct Counters {
  std::atomic<std::uint64_t> bytes_taken = 0;  ///< of the files, compressed or not
  std::atomic<std::uint64_t> bytes_total = 0;  ///< of the files; 0: not known
  std::atomic<std::uint64_t> rows = 0;
  std::atomic<std::uint64_t> rows_kept = 0;  ///< sorted, for another load to go on with
  std::atomic<std::uint64_t> faults = 0;
  std::atomic<Phase> phase = Phase::opening;
  std::atomic<CommitState> commit = CommitState::none;
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
  /// Takes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  /// Rates since the beginning of the phase of rows, and what they say of its end.
  struct Speed {
    double rows_per_second = 0;
    double megabytes_per_second = 0;
    std::optional<double> percent{};
    std::optional<double> seconds_left{};
  };

  void run();
  void show();
  [[nodiscard]] Speed speed() const;
  [[nodiscard]] std::string bar(const Speed& now) const;
  [[nodiscard]] std::string line(const Speed& now) const;
  [[nodiscard]] std::string json(const Speed& now) const;

  ProgressMode mode_;
  const Counters& counters_;
  Clock::time_point begin_ = Clock::now();
  std::mutex mutex_{};
  std::condition_variable ended_{};
  bool at_end_ = false;
  std::thread thread_{};
};

}  // namespace palimpsest::load
