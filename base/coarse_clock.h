// Monotonic time, exact to a few milliseconds, for measuring ages where a reading may cost only a
// few nanoseconds.
//
// Thread-safety: any thread. Failure: none.
#pragma once

#include <chrono>
#include <ctime>

namespace palimpsest {

class CoarseClock {
 public:
  [[nodiscard]] static std::chrono::milliseconds now() noexcept {
    timespec time{};
    static_cast<void>(clock_gettime(CLOCK_MONOTONIC_COARSE, &time));
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace palimpsest
