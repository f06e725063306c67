#include "engine/recovery/progress.h"

#include <algorithm>

namespace palimpsest::engine {

ProgressMeter::ProgressMeter(const ProgressCallback& callback, RecoveryPhase phase,
                             std::uint64_t bytes_total)
    : callback_(callback),
      phase_(phase),
      bytes_total_(bytes_total),
      begun_(SteadyClock::now()),
      last_(begun_) {
  if (callback_) {
    tell(0, begun_);
  }
}

void ProgressMeter::at(std::uint64_t bytes_done) {
  if (!callback_) {
    return;
  }
  const SteadyClock::time_point now = SteadyClock::now();
  if (now - last_ >= kProgressInterval) {
    tell(bytes_done, now);
  }
}

void ProgressMeter::finish() {
  if (callback_) {
    tell(bytes_total_, SteadyClock::now());
  }
}

void ProgressMeter::tell(std::uint64_t bytes_done, SteadyClock::time_point now) {
  last_ = now;
  const std::uint64_t done = std::min(bytes_done, bytes_total_);
  Progress progress{.phase = phase_, .bytes_done = done, .bytes_total = bytes_total_};
  if (done != 0) {
    const std::chrono::duration<double, std::milli> elapsed = now - begun_;
    const double rest = static_cast<double>(bytes_total_ - done) / static_cast<double>(done);
    progress.estimated_remaining =
        std::chrono::milliseconds(static_cast<std::int64_t>(elapsed.count() * rest));
  }
  callback_(progress);
}

}  // namespace palimpsest::engine
