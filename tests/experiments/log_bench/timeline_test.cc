#include "experiments/log_bench/timeline.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace palimpsest::experiments {
namespace {

using namespace std::chrono_literals;
using Clock = Timeline::Clock;

TEST(Timeline, EachCommitCountsInTheStepOfItsEnd) {
  const Clock::time_point start = Clock::now();
  Timeline timeline(start, 100ms, 3);
  {
    Timeline::Recorder recorder(timeline);
    recorder.record(start, 10);
    recorder.record(start + 99ms, 30);
    recorder.record(start + 250ms, 50);
  }
  const std::vector<Timeline::Step> steps = timeline.steps();
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].commits, 2U);
  EXPECT_EQ(steps[0].p50_ns, 10U);
  EXPECT_EQ(steps[0].p99_ns, 30U);
  EXPECT_EQ(steps[0].max_ns, 30U);
  EXPECT_EQ(steps[1].commits, 0U);
  EXPECT_EQ(steps[2].commits, 1U);
  EXPECT_EQ(steps[2].max_ns, 50U);
  EXPECT_EQ(timeline.total().count(), 3U);
}

TEST(Timeline, WhatEndsOutsideIsNotCounted) {
  const Clock::time_point start = Clock::now();
  Timeline timeline(start, 100ms, 2);
  EXPECT_EQ(timeline.end(), start + 200ms);
  {
    Timeline::Recorder recorder(timeline);
    recorder.record(start - 1ns, 10);
    recorder.record(start + 200ms, 10);
  }
  EXPECT_EQ(timeline.total().count(), 0U);
}

TEST(Timeline, StepsOfManyThreadsAreMerged) {
  const Clock::time_point start = Clock::now();
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kSteps = 50;
  constexpr int kPerStep = 20;
  Timeline timeline(start, 1ms, kSteps);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        Timeline::Recorder recorder(timeline);
        for (std::size_t step = 0; step < kSteps; ++step) {
          for (int each = 0; each < kPerStep; ++each) {
            recorder.record(start + 1ms * step, 100);
          }
        }
      });
    }
  }
  for (const Timeline::Step& step : timeline.steps()) {
    EXPECT_EQ(step.commits, kThreads * kPerStep);
  }
}

}  // namespace
}  // namespace palimpsest::experiments
