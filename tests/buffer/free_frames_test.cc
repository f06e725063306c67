// Every frame is with exactly one holder: the list or a thread.
#include "buffer/free_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

TEST(FreeFrames, HandsOutEachFrameOnce) {
  FreeFrames free_frames(100);
  EXPECT_EQ(free_frames.count(), 100U);
  std::set<FrameIndex> taken;
  while (const auto frame = free_frames.take()) {
    EXPECT_LT(raw(*frame), 100U);
    EXPECT_TRUE(taken.insert(*frame).second);
  }
  EXPECT_EQ(taken.size(), 100U);
  EXPECT_EQ(free_frames.count(), 0U);
  free_frames.give(FrameIndex{42});
  EXPECT_EQ(free_frames.take(), FrameIndex{42});
}

TEST(FreeFrames, TakesAllOrNone) {
  FreeFrames free_frames(10);
  std::vector<FrameIndex> taken{FrameIndex{99}};
  EXPECT_TRUE(free_frames.take(7, taken));
  EXPECT_EQ(taken.size(), 8U);
  EXPECT_FALSE(free_frames.take(4, taken));
  EXPECT_EQ(taken.size(), 8U);
  EXPECT_EQ(free_frames.count(), 3U);
  EXPECT_TRUE(free_frames.take(3, taken));
  EXPECT_EQ(taken.front(), FrameIndex{99});
}

TEST(FreeFrames, NoFrameIsHeldTwice) {
  constexpr std::uint32_t kFrames = 64;
  FreeFrames free_frames(kFrames);
  std::array<std::atomic<int>, kFrames> holders{};
  std::atomic<int> held_twice{0};
  const std::uint64_t seed = palimpsest::test::seed();
  palimpsest::test::run_threads(8, [&](std::size_t thread) {
    Random random(seed + thread);
    std::vector<FrameIndex> mine;
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t before = mine.size();
      if (random.one_in(2) && mine.size() < 10) {
        static_cast<void>(free_frames.take(static_cast<std::uint32_t>(random.between(1, 3)), mine));
        for (std::size_t taken = before; taken < mine.size(); ++taken) {
          held_twice += holders.at(raw(mine[taken])).fetch_add(1) == 0 ? 0 : 1;
        }
      } else if (!mine.empty()) {
        holders.at(raw(mine.back())).fetch_sub(1);
        free_frames.give(mine.back());
        mine.pop_back();
      }
    }
    for (const FrameIndex frame : mine) {
      holders.at(raw(frame)).fetch_sub(1);
      free_frames.give(frame);
    }
  });
  EXPECT_EQ(held_twice.load(), 0);
  EXPECT_EQ(free_frames.count(), kFrames);
}

}  // namespace
}  // namespace palimpsest::buffer
