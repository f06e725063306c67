#include "experiments/oltp/operate.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/random.h"

namespace palimpsest::experiments::oltp {
namespace {

using Clock = Arrivals::Clock;

constexpr std::uint64_t kWaitMicrosecondsFirst = 20;
constexpr std::uint64_t kWaitMicrosecondsMax = 1000;

/// The waits between the attempts at one transaction.
class Waits {
 public:
  explicit Waits(Random& random) noexcept : random_(random) {}

  void wait() {
    std::this_thread::sleep_for(std::chrono::microseconds(random_.below(most_)));
    most_ = std::min(2 * most_, kWaitMicrosecondsMax);
  }

 private:
  Random& random_;
  std::uint64_t most_ = kWaitMicrosecondsFirst;
};

std::uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

/// Runs the chosen transaction until it has ended, or its thread must stop.
void run_to_end(Terminal& terminal, std::size_t type, Clock::time_point start,
                const std::atomic<bool>& stopping, Random& random, WorkerTally& tally) {
  for (Waits waits(random);; waits.wait()) {
    switch (terminal.run()) {
      case Outcome::committed: tally.commit(type, nanoseconds_since(start)); return;
      case Outcome::rolled_back: tally.rollback(type); return;
      case Outcome::conflict: tally.conflict(terminal.conflict_reason()); break;
    }
    if (stopping.load(std::memory_order_relaxed)) {
      return;
    }
  }
}

}  // namespace

void operate(Terminal& terminal, Arrivals& arrivals, const std::atomic<bool>& stopping,
             std::uint64_t seed, WorkerTally& tally) {
  // Makes sleeps end within a few microseconds instead of 50. If the system refuses, they are
  // longer.
  (void)::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  Random random(seed);
  for (;;) {
    const std::size_t type = terminal.choose();
    const auto start = arrivals.next(stopping);
    if (!start) {
      return;
    }
    run_to_end(terminal, type, *start, stopping, random, tally);
  }
}

}  // namespace palimpsest::experiments::oltp
