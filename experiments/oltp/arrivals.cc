#include "experiments/oltp/arrivals.h"

#include <algorithm>
#include <thread>

namespace palimpsest::experiments::oltp {
namespace {

/// A waiting thread checks this often whether it should stop.
constexpr std::chrono::milliseconds kLookEvery{50};

}  // namespace

std::optional<Arrivals::Clock::time_point> Arrivals::next(const std::atomic<bool>& stopping) {
  const auto is_stopping = [&] { return stopping.load(std::memory_order_relaxed); };
  if (!rate_) {
    return is_stopping() ? std::nullopt : std::optional(Clock::now());
  }
  const auto number = static_cast<double>(arrived_.fetch_add(1, std::memory_order_relaxed));
  const auto arrival = start_ + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(number / *rate_));
  for (auto now = Clock::now(); now < arrival && !is_stopping(); now = Clock::now()) {
    std::this_thread::sleep_until(std::min(arrival, now + kLookEvery));
  }
  return is_stopping() ? std::nullopt : std::optional(arrival);
}

}  // namespace palimpsest::experiments::oltp
