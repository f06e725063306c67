#include "experiments/common/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace palimpsest::experiments {
namespace {

using namespace std::chrono_literals;

/// A task that is called each millisecond, and counts the calls.
class Ticks {
 public:
  void wait_for(int calls) {
    for (int seen = calls_; seen < calls; seen = calls_) {
      calls_.wait(seen);
    }
  }
  void stop() { task_.stop(); }
  [[nodiscard]] int calls() const { return calls_; }

 private:
  std::atomic<int> calls_{0};
  PeriodicTask task_{1ms, [this] {
                       ++calls_;
                       calls_.notify_all();
                     }};
};

TEST(PeriodicTask, CallsAgainAndAgainUntilStopped) {
  Ticks ticks;
  ticks.wait_for(3);
  ticks.stop();
  const int after = ticks.calls();
  Ticks().wait_for(5);  // the time that this one would have taken
  EXPECT_EQ(ticks.calls(), after);
}

TEST(PeriodicTask, StopThrowsWhatACallThrewOnce) {
  std::atomic<int> calls{0};
  PeriodicTask task(1ms, [&] {
    ++calls;
    calls.notify_all();
    throw std::runtime_error("no space");
  });
  calls.wait(0);
  EXPECT_THROW(task.stop(), std::runtime_error);
  EXPECT_NO_THROW(task.stop());
  EXPECT_EQ(calls, 1);
}

TEST(PeriodicTask, EndsAtOnceHoweverLongItsInterval) {
  std::atomic<int> calls{0};
  {
    const PeriodicTask task(1h, [&] { ++calls; });
  }
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace palimpsest::experiments
