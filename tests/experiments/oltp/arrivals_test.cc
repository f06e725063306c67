#include "experiments/oltp/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace palimpsest::experiments::oltp {
namespace {

using namespace std::chrono_literals;
using Clock = Arrivals::Clock;

TEST(Arrivals, WithoutARateTheNextIsNow) {
  Arrivals arrivals(std::nullopt);
  const std::atomic<bool> stopping{false};
  const auto before = Clock::now();
  const auto next = arrivals.next(stopping);
  EXPECT_GE(next.value(), before);
  EXPECT_LE(*next, Clock::now());
}

TEST(Arrivals, AreEvenWhicheverThreadTakesThem) {
  Arrivals arrivals(1'000.0);
  const std::atomic<bool> stopping{false};
  const auto start = Clock::now() + 5ms;
  arrivals.start(start);
  std::vector<std::vector<Clock::time_point>> taken(2);
  {
    std::vector<std::jthread> threads;
    threads.reserve(taken.size());
    for (auto& mine : taken) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          const auto at = arrivals.next(stopping).value();
          EXPECT_GE(Clock::now(), at) << "nothing is taken before it arrives";
          mine.push_back(at);
        }
      });
    }
  }
  std::vector<Clock::time_point> all = taken[0];
  all.insert(all.end(), taken[1].begin(), taken[1].end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i], start + i * 1ms);
  }
}

TEST(Arrivals, WhatComesLateHasArrivedBefore) {
  Arrivals arrivals(1e6);
  const std::atomic<bool> stopping{false};
  const auto start = Clock::now() - 1s;
  arrivals.start(start);
  EXPECT_EQ(arrivals.next(stopping), start);
  EXPECT_EQ(arrivals.next(stopping), start + 1us);
}

TEST(Arrivals, WaitingEndsWhenToldToStop) {
  Arrivals arrivals(0.001);
  std::atomic<bool> stopping{false};
  arrivals.start(Clock::now());
  EXPECT_TRUE(arrivals.next(stopping).has_value());
  std::jthread stops([&] {
    std::this_thread::sleep_for(20ms);
    stopping = true;
  });
  EXPECT_FALSE(arrivals.next(stopping).has_value());
}

}  // namespace
}  // namespace palimpsest::experiments::oltp
