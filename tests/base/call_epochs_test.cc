// Call epochs: objects found in a call are freed only when no call can hold them any more.
#include "base/call_epochs.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"

namespace palimpsest {
namespace {

TEST(CallEpochsTest, WithoutCallsAllHaveLeft) {
  CallEpochs calls;
  EXPECT_TRUE(calls.have_left(calls.now()));
}

TEST(CallEpochsTest, ACallIsWaitedForUntilItEnds) {
  CallEpochs calls;
  CallEpochs::Call call = calls.enter();
  const std::uint64_t left = calls.now();
  for (int times = 0; times < 5; ++times) {
    EXPECT_FALSE(calls.have_left(left));
  }
  CallEpochs::Call moved = std::move(call);
  EXPECT_FALSE(calls.have_left(left));
  moved.leave();
  EXPECT_TRUE(calls.have_left(left));
  EXPECT_TRUE(calls.have_left(left));
}

// Otherwise a stream of short calls would keep everything in memory.
TEST(CallEpochsTest, LaterCallsAreNotWaitedFor) {
  CallEpochs calls;
  std::uint64_t left = calls.now();
  CallEpochs::Call call = calls.enter();
  for (int times = 0; times < 100; ++times) {
    const std::uint64_t taken_out = calls.now();
    EXPECT_FALSE(calls.have_left(taken_out));
    CallEpochs::Call next = calls.enter();
    call = std::move(next);  // one is always open
    next.leave();
    EXPECT_TRUE(calls.have_left(left));
    left = taken_out;
  }
}

TEST(CallEpochsTest, CallsOfAllThreadsAreWaitedFor) {
  CallEpochs calls;
  constexpr std::size_t kThreads = 100;
  for (std::size_t number = 0; number < kThreads; ++number) {
    CallEpochs::Call call;
    std::thread([&] { call = calls.enter(); }).join();
    const std::uint64_t left = calls.now();
    EXPECT_FALSE(calls.have_left(left)) << number;
    call.leave();
    EXPECT_TRUE(calls.have_left(left)) << number;
  }
}

// Sanitizers notice freed memory; without them the value shows it.
TEST(CallEpochsTest, WhatIsFoundInACallStaysUntilItsEnd) {
  struct Thing {
    explicit Thing(int number) : value(number) {}
    ~Thing() { value = -1; }
    std::atomic<int> value;
  };
  CallEpochs calls;
  std::atomic<Thing*> current{new Thing(0)};
  std::atomic<bool> is_over{false};
  // Freed after the readers have ended: they may be inside their last call when is_over is set.
  std::vector<std::pair<std::unique_ptr<Thing>, std::uint64_t>> left;
  constexpr std::size_t kReaders = 3;
  test::run_threads(kReaders + 1, [&](std::size_t thread) {
    if (thread < kReaders) {
      while (!is_over.load()) {
        const CallEpochs::Call call = calls.enter();
        const Thing* const found = current.load();
        for (int times = 0; times < 20; ++times) {
          ASSERT_GE(found->value.load(), 0);
        }
      }
      return;
    }
    int number = 0;
    for (test::Rounds rounds(2000); rounds.next();) {
      std::unique_ptr<Thing> before(current.exchange(new Thing(++number)));
      left.emplace_back(std::move(before), calls.now());
      std::erase_if(left, [&](const auto& thing) { return calls.have_left(thing.second); });
    }
    is_over = true;
  });
  // Not before: a reader may have been inside one call, without being run, for all the rounds.
  std::erase_if(left, [&](const auto& thing) { return calls.have_left(thing.second); });
  EXPECT_TRUE(left.empty());
  delete current.load();
}

}  // namespace
}  // namespace palimpsest
