// When transactions are to start: one after the other, or at a fixed rate.
//
// Closed loop: a thread starts its next transaction when its last has ended; latency is what the
// transaction took. It says little about what users would have waited: a stall delays one
// transaction for each thread, and all that would have come meanwhile are not there.
// Fixed rate: transactions arrive evenly, whether or not the last have ended, and the first thread
// that is free takes the next; latency counts from the arrival.
// Thread-safety: next(), any thread, after start().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace palimpsest::experiments::oltp {

class Arrivals {
 public:
  using Clock = std::chrono::steady_clock;

  /// `rate`, of all threads together, is transactions a second; nothing: closed loop.
  explicit Arrivals(std::optional<double> rate) noexcept : rate_(rate) {}

  /// The first transaction arrives then.
  void start(Clock::time_point start) noexcept { start_ = start; }

  /// The next arrival, waited for: where latency begins. Nothing if it was told to stop meanwhile.
  [[nodiscard]] std::optional<Clock::time_point> next(const std::atomic<bool>& stopping);

 private:
  std::optional<double> rate_;
  Clock::time_point start_{};
  std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace palimpsest::experiments::oltp
