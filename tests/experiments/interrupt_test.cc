// Signals stay pending until the program asks for them.
#include "experiments/common/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace palimpsest::experiments {
namespace {

TEST(InterruptSignals, AreSeenOnceAndEndNothing) {
  InterruptSignals signals;
  EXPECT_FALSE(signals.arrived());
  for (const int signal : {SIGINT, SIGTERM}) {
    ASSERT_EQ(std::raise(signal), 0);
    EXPECT_TRUE(signals.arrived()) << signal;
    EXPECT_FALSE(signals.arrived()) << signal;
  }
}

TEST(InterruptSignalsDeathTest, HaveTheirUsualEffectAfterwards) {
  EXPECT_EXIT(
      {
        {
          const InterruptSignals signals;
        }
        static_cast<void>(std::raise(SIGTERM));
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace palimpsest::experiments
