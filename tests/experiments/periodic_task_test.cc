#include "experiments/common/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace palimpsest::experiments {
namespace {

using namespace std::chrono_literals;

TEST(PeriodicTask, CallsAgainAndAgainUntilStopped) {
  std::atomic<int> calls{0};
  PeriodicTask task(1ms, [&] {
    ++calls;
    calls.notify_all();
  });
  for (int seen = calls; seen < 3; seen = calls) {
    calls.wait(seen);
  }
  task.stop();
  const int after = calls;
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(calls, after);
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
