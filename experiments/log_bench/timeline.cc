#include "experiments/log_bench/timeline.h"

namespace palimpsest::experiments {

Timeline::Timeline(Clock::time_point start, Clock::duration length, std::size_t steps)
    : start_(start), length_(length), slots_(steps) {}

Timeline::Clock::time_point Timeline::end() const noexcept {
  return start_ + length_ * static_cast<std::int64_t>(slots_.size());
}

std::vector<Timeline::Step> Timeline::steps() const {
  std::vector<Step> steps;
  steps.reserve(slots_.size());
  for (const Slot& slot : slots_) {
    const std::lock_guard lock(slot.mutex);
    steps.push_back({.commits = slot.latency_ns.count(),
                     .p50_ns = slot.latency_ns.quantile(0.5),
                     .p99_ns = slot.latency_ns.quantile(0.99),
                     .max_ns = slot.latency_ns.max()});
  }
  return steps;
}

Histogram Timeline::total() const {
  Histogram total;
  for (const Slot& slot : slots_) {
    const std::lock_guard lock(slot.mutex);
    total.merge(slot.latency_ns);
  }
  return total;
}

void Timeline::Recorder::record(Clock::time_point now, std::uint64_t latency_ns) {
  if (now < timeline_.start_ || now >= timeline_.end()) {
    return;
  }
  const auto step = static_cast<std::size_t>((now - timeline_.start_) / timeline_.length_);
  if (step != step_) {
    merge();
    step_ = step;
  }
  current_.record(latency_ns);
}

void Timeline::Recorder::merge() {
  if (current_.count() == 0) {
    return;
  }
  Slot& slot = timeline_.slots_[step_];
  const std::lock_guard lock(slot.mutex);
  slot.latency_ns.merge(current_);
  current_.clear();
}

}  // namespace palimpsest::experiments
