#include "experiments/common/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "tests/support/eventually.h"

namespace palimpsest::experiments {
namespace {

using namespace std::chrono_literals;

TEST(Crew, StartsTogetherAndEndsTogether) {
  std::atomic<int> prepared{0};
  std::atomic<int> worked{0};
  std::atomic<bool> too_soon{false};
  Crew crew(4, [&](Crew& of, std::uint32_t) {
    prepared.fetch_add(1);
    of.start_together();
    too_soon = too_soon || prepared.load() != 4;
    worked.fetch_add(1);
  });
  EXPECT_EQ(prepared.load(), 4);
  EXPECT_EQ(worked.load(), 0) << "no thread works before go()";
  EXPECT_FALSE(crew.wait_for_end(Crew::Clock::now() + 5ms));
  crew.go();
  EXPECT_TRUE(crew.wait_for_end(Crew::Clock::now() + 60s));
  crew.join();
  EXPECT_EQ(worked.load(), 4);
  EXPECT_FALSE(too_soon.load());
}

TEST(Crew, WorksUntilItIsStopped) {
  std::atomic<std::uint64_t> turns{0};
  Crew crew(2, [&](Crew& of, std::uint32_t) {
    of.start_together();
    while (!of.stopping()) {
      turns.fetch_add(1);
    }
  });
  crew.go();
  while (turns.load() < 100) {
  }
  crew.join();
  EXPECT_GE(turns.load(), 100U);
}

TEST(Crew, TheFirstErrorIsThrownAndEndsTheOtherThreads) {
  for (const bool prepared : {false, true}) {
    Crew crew(3, [&](Crew& of, std::uint32_t number) {
      if (!prepared && number == 1) {
        throw std::runtime_error("one failed");
      }
      of.start_together();
      if (number == 1) {
        throw std::runtime_error("one failed");
      }
      while (!of.stopping()) {
      }
      throw std::runtime_error("and the remaining threads, then");
    });
    crew.go();
    EXPECT_TRUE(crew.wait_for_end(Crew::Clock::now() + 60s));
    try {
      crew.join();
      ADD_FAILURE() << "an error is thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string("one failed"));
    }
  }
}

TEST(Crew, ARestingThreadGoesOnInTimeAndEndsWhenStopped) {
  std::atomic<int> rested{0};
  std::atomic<int> ended{0};
  Crew crew(3, [&](Crew& of, std::uint32_t) {
    of.start_together();
    EXPECT_TRUE(of.rest_until(Crew::Clock::now()));
    EXPECT_TRUE(of.rest_until(Crew::Clock::now() + 1ms));
    rested.fetch_add(1);
    EXPECT_FALSE(of.rest_until(Crew::Clock::now() + 1h));
    ended.fetch_add(1);
  });
  crew.go();
  EXPECT_TRUE(palimpsest::test::eventually([&] { return rested.load() == 3; }));
  crew.join();
  EXPECT_EQ(ended.load(), 3);
}

TEST(Crew, MembersThatNeverWereToldToGoEnd) {
  std::atomic<int> ended{0};
  {
    Crew crew(3, [&](Crew& of, std::uint32_t) {
      of.start_together();
      EXPECT_TRUE(of.stopping());
      ended.fetch_add(1);
    });
  }
  EXPECT_EQ(ended.load(), 3);
}

}  // namespace
}  // namespace palimpsest::experiments
