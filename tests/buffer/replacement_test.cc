// Which pages are evicted: frequently used ones stay, whatever is read once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iostream>

#include "base/random.h"
#include "buffer/frame.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/seed.h"

namespace palimpsest::buffer {
namespace {

/// The age of frames outside of any pool.
const std::atomic<PageAge> kNoAge;

int visits_until_cold(Frame& frame) {
  int visits = 1;
  while (!frame.is_cold_at_visit()) {
    ++visits;
  }
  return visits;
}

TEST(FrameHeat, APageThatHasComeHasOneVisit) {
  Frame frame(kNoAge);
  frame.begin_use();
  EXPECT_EQ(visits_until_cold(frame), 2);
  EXPECT_TRUE(frame.is_cold_at_visit()) << "it stays cold";
}

TEST(FrameHeat, EachVisitThatFindsItUsedGivesItOneMore) {
  for (int used = 1; used <= Frame::kHeatMax + 1; ++used) {
    Frame frame(kNoAge);
    frame.begin_use();
    for (int i = 0; i < used; ++i) {
      EXPECT_FALSE(frame.is_cold_at_visit());
      frame.touch();
    }
    frame.cool.store(true);
    EXPECT_EQ(visits_until_cold(frame), used) << "the first use does not count";
  }
}

TEST(FrameHeat, IsBounded) {
  Frame frame(kNoAge);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(frame.is_cold_at_visit());
    frame.touch();
  }
  frame.cool.store(true);
  EXPECT_EQ(visits_until_cold(frame), Frame::kHeatMax + 1);
}

TEST(FrameHeat, IsNotTheNextPages) {
  Frame frame(kNoAge);
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(frame.is_cold_at_visit());
    frame.touch();
  }
  frame.begin_use();
  EXPECT_EQ(visits_until_cold(frame), 2);
}

// Some leaves are read again and again; then a third of the remaining ones are, for a while each,
// more than there are frames.
class Replacement : public palimpsest::test::ClosedTreeTest {
 protected:
  static constexpr std::uint64_t kRecords = 36'000;
  static constexpr std::uint64_t kEach = 200;  ///< one record in so many is hot
  static constexpr std::uint64_t kHot = kRecords / kEach;

  Replacement() : ClosedTreeTest(kRecords, {.page_size_bytes = 4096, .frames = 1000}) {}

  void read(std::uint64_t i) { ASSERT_EQ(value_of(i), old_value(i)); }
  void read_hot() {
    for (std::uint64_t hot = 0; hot < kRecords; hot += kEach) {
      read(hot);
    }
  }
  [[nodiscard]] std::uint64_t resident_hot() {
    std::uint64_t count = 0;
    for (std::uint64_t hot = 0; hot < kRecords; hot += kEach) {
      count += resident(hot) ? 1U : 0U;
    }
    return count;
  }
};

// Otherwise the first thread that needs a frame would wait until all pages have been visited.
TEST_F(Replacement, PagesHaveBeenVisitedWhenTheFirstHasToGo) {
  const BufferPool& pool = database_->pool();
  for (std::uint64_t i = 0; pool.free_frame_count() > 16; i += 10) {
    ASSERT_LT(i, kRecords);
    read(i);
  }
  std::uint32_t visited = 0;
  for (std::uint32_t i = 0; i < pool.frames().count(); ++i) {
    visited += pool.frames()[FrameIndex{i}].cool.load() ? 1U : 0U;
  }
  EXPECT_GT(visited, pool.frames().count() / 2);
}

TEST_F(Replacement, AScanLeavesWhatIsUsedAgainAndAgain) {
  Random random(palimpsest::test::seed());
  for (int i = 0; i < 100; ++i) {
    read_hot();
    for (int j = 0; j < 100; ++j) {
      read(random.below(kRecords));
    }
  }
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    if (i % kEach > kEach / 3 && i % kEach < kEach * 2 / 3) {  // far from the hot ones
      read(i);
    }
  }
  const std::uint64_t stayed = resident_hot();
  std::cout << stayed << " of " << kHot << " stayed\n";
  EXPECT_GE(stayed, kHot / 2);
}

}  // namespace
}  // namespace palimpsest::buffer
