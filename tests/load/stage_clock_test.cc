#include "tools/load/stage_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace palimpsest::load {
namespace {

using namespace std::chrono_literals;

TEST(StageClockTest, TimeIsThatOfTheStageThatIsEntered) {
  StageClock clock;
  EXPECT_EQ(clock.enter(Stage::sorting), Stage::other);
  std::this_thread::sleep_for(3ms);
  EXPECT_EQ(clock.enter(Stage::writing), Stage::sorting);
  const StageTimes times = clock.times();
  EXPECT_GE(times[Stage::sorting], 3ms);
  EXPECT_EQ(times[Stage::reading], 0ns);
}

TEST(StageClockTest, AStageThatHasNotEndedCounts) {
  StageClock clock;
  clock.enter(Stage::reading);
  const StageTimes before = clock.times();
  std::this_thread::sleep_for(3ms);
  const StageTimes since = clock.times().since(before);
  EXPECT_GE(since[Stage::reading], 3ms);
  EXPECT_EQ(since[Stage::other], 0ns);
  EXPECT_EQ(since.longest(), Stage::reading);
}

TEST(StageClockTest, AStageWithinAnotherOne) {
  StageClock clock;
  clock.enter(Stage::sorting);
  {
    const InStage writing(clock, Stage::writing);
    std::this_thread::sleep_for(3ms);
  }
  EXPECT_EQ(clock.enter(Stage::other), Stage::sorting);
  EXPECT_GE(clock.times()[Stage::writing], 3ms);
}

TEST(StageClockTest, APartIsMovedAndNoMoreThanThereIs) {
  StageClock clock;
  clock.enter(Stage::reading);
  std::this_thread::sleep_for(3ms);
  clock.enter(Stage::other);
  const StageTimes::Duration all = clock.times()[Stage::reading];
  clock.move(1ms, Stage::reading, Stage::parsing);
  EXPECT_EQ(clock.times()[Stage::reading], all - 1ms);
  EXPECT_EQ(clock.times()[Stage::parsing], 1ms);
  clock.move(1h, Stage::reading, Stage::parsing);
  EXPECT_EQ(clock.times()[Stage::reading], 0ns);
  EXPECT_EQ(clock.times()[Stage::parsing], all);
}

TEST(StageTimesTest, SharesAreOfAll) {
  StageTimes times;
  EXPECT_EQ(times.share(Stage::parsing), 0);
  times[Stage::parsing] = 1ms;
  times[Stage::writing] = 3ms;
  EXPECT_EQ(times.share(Stage::parsing), 0.25);
  EXPECT_EQ(times.longest(), Stage::writing);
  StageTimes twice = times;
  twice += times;
  EXPECT_EQ(twice[Stage::writing], 6ms);
}

}  // namespace
}  // namespace palimpsest::load
