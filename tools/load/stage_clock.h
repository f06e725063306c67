// Where the time of a load goes: reading, parsing, sorting or writing.
//
// One thread puts all rows of a load into the table. At any moment it works for one stage or waits
// for it, and the elapsed time counts for that stage. The time is taken once for each block of
// rows, not for each row. So the stages add up to the elapsed time, whatever the number of threads,
// and the longest of them is the one that a load waits for.
//
// Thread-safety: enter() and move() belong to that thread; times() may be called from any.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>

namespace palimpsest::load {

enum class Stage : std::uint8_t {
  other = 0,  ///< opening the database, and closing it
  reading,    ///< waiting for bytes of the input, decompressed and cut into chunks
  parsing,    ///< waiting until a chunk that was read is parsed; choosing the table before
  sorting,    ///< handing over rows to be sorted, and fetching them in order
  writing,    ///< inserting rows, and committing them
};

inline constexpr std::array kStages{Stage::other, Stage::reading, Stage::parsing, Stage::sorting,
                                    Stage::writing};

[[nodiscard]] constexpr std::string_view name_of(Stage stage) noexcept {
  constexpr std::array<std::string_view, kStages.size()> kNames{"other", "reading", "parsing",
                                                                "sorting", "writing"};
  return kNames[static_cast<std::size_t>(stage)];
}

class StageTimes {
 public:
  using Duration = std::chrono::nanoseconds;

  [[nodiscard]] Duration& operator[](Stage stage) noexcept {
    return times_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] Duration operator[](Stage stage) const noexcept {
    return times_[static_cast<std::size_t>(stage)];
  }
  StageTimes& operator+=(const StageTimes& other) noexcept {
    for (const Stage stage : kStages) {
      (*this)[stage] += other[stage];
    }
    return *this;
  }
  /// What has been added since an earlier state.
  [[nodiscard]] StageTimes since(const StageTimes& earlier) const noexcept {
    StageTimes times = *this;
    for (const Stage stage : kStages) {
      times[stage] -= earlier[stage];
    }
    return times;
  }
  /// Of all time, from 0 to 1.
  [[nodiscard]] double share(Stage stage) const noexcept {
    Duration all{0};
    for (const Duration time : times_) {
      all += time;
    }
    return all.count() == 0
               ? 0
               : static_cast<double>((*this)[stage].count()) / static_cast<double>(all.count());
  }
  [[nodiscard]] Stage longest() const noexcept {
    return kStages[static_cast<std::size_t>(std::ranges::max_element(times_) - times_.begin())];
  }

 private:
  std::array<Duration, kStages.size()> times_{};
};

class StageClock {
 public:
  /// Begins a stage, and ends the one before, which is returned.
  Stage enter(Stage stage) noexcept {
    const std::lock_guard lock(mutex_);
    add_elapsed();
    return std::exchange(stage_, stage);
  }
  /// Counts a part of the time of one stage for another one.
  void move(StageTimes::Duration time, Stage from, Stage to) noexcept {
    const std::lock_guard lock(mutex_);
    const StageTimes::Duration most = std::min(time, times_[from]);
    times_[from] -= most;
    times_[to] += most;
  }
  /// Up to now.
  [[nodiscard]] StageTimes times() const noexcept {
    const std::lock_guard lock(mutex_);
    StageTimes times = times_;
    times[stage_] += Clock::now() - begin_;
    return times;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void add_elapsed() noexcept {
    const Clock::time_point now = Clock::now();
    times_[stage_] += now - begin_;
    begin_ = now;
  }

  mutable std::mutex mutex_{};  ///< of all that follows
  StageTimes times_{};
  Stage stage_ = Stage::other;
  Clock::time_point begin_ = Clock::now();  ///< of the stage
};

/// A stage within another one.
class InStage {
 public:
  InStage(StageClock& clock, Stage stage) noexcept : clock_(clock), before_(clock.enter(stage)) {}
  ~InStage() { clock_.enter(before_); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  StageClock& clock_;
  Stage before_;
};

}  // namespace palimpsest::load
