// When transactions start: one after the other, or at a fixed rate.
//
// Closed loop: a thread starts its next transaction when its last has ended; latency is the
// duration of the transaction. It says little about how long users would wait: a stall delays one
// transaction of each thread, and those that would have arrived meanwhile never start.
// Fixed rate: transactions arrive evenly, whether or not the last have ended, and the first free
// thread takes the next one; latency counts from the arrival.
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

  /// Waits for the next arrival and returns its time, where latency begins. Nothing if told to stop
  /// meanwhile.
  [[nodiscard]] std::optional<Clock::time_point> next(const std::atomic<bool>& stopping);

 private:
  std::optional<double> rate_;
  Clock::time_point start_{};
  std::atomic<std::uint64_t> arrived_{0};
};

}  // namespace palimpsest::experiments::oltp
