// One entry a page, and only its owner takes it out.
#include "buffer/fault_table.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

#include "base/random.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"

namespace palimpsest::buffer {
namespace {

class FaultTableTest : public ::testing::Test {
 protected:
  void load(PageId page, FrameIndex frame) {
    frames_[frame].state.store(FrameState::loading);
    ASSERT_EQ(table_.insert(page, frame).found, FaultTable::Found::nothing);
  }

  FrameTable frames_{64, 4096};
  FaultTable table_{frames_};
};

TEST_F(FaultTableTest, OneEntryAPage) {
  load(PageId{7}, FrameIndex{1});
  const auto second = table_.insert(PageId{7}, FrameIndex{2});
  EXPECT_EQ(second.found, FaultTable::Found::loading);
  EXPECT_EQ(second.frame, FrameIndex{1});
  load(PageId{7 + 64}, FrameIndex{2});  // the same shard
  EXPECT_EQ(table_.find(PageId{7 + 64}).frame, FrameIndex{2});
  EXPECT_EQ(table_.find(PageId{8}).found, FaultTable::Found::nothing);
}

TEST_F(FaultTableTest, OnlyReadyPagesAreTaken) {
  load(PageId{7}, FrameIndex{1});
  EXPECT_FALSE(table_.take_ready(PageId{7}, FrameIndex{1}));
  table_.mark_ready(PageId{7}, FrameIndex{1});
  EXPECT_EQ(table_.find(PageId{7}).found, FaultTable::Found::ready);
  EXPECT_FALSE(table_.take_ready(PageId{7}, FrameIndex{3}));  // another frame is meant
  EXPECT_TRUE(table_.take_ready(PageId{7}, FrameIndex{1}));
  EXPECT_EQ(table_.find(PageId{7}).found, FaultTable::Found::nothing);
  EXPECT_FALSE(table_.take_ready(PageId{7}, FrameIndex{1}));
}

// A thread that attaches a ready page keeps its entry until its parent points to it.
TEST_F(FaultTableTest, ClaimedPagesCountAsBeingLoaded) {
  load(PageId{7}, FrameIndex{1});
  EXPECT_EQ(table_.claim_ready(PageId{7}), kNoFrame);
  table_.mark_ready(PageId{7}, FrameIndex{1});
  EXPECT_EQ(table_.claim_ready(PageId{7}), FrameIndex{1});
  EXPECT_EQ(table_.claim_ready(PageId{7}), kNoFrame);
  EXPECT_FALSE(table_.take_ready(PageId{7}, FrameIndex{1}));
  EXPECT_EQ(table_.insert(PageId{7}, FrameIndex{2}).found, FaultTable::Found::loading);
  table_.mark_ready(PageId{7}, FrameIndex{1});  // given back
  EXPECT_EQ(table_.find(PageId{7}).found, FaultTable::Found::ready);
  EXPECT_EQ(table_.claim_ready(PageId{7}), FrameIndex{1});
  table_.remove_loading(PageId{7}, FrameIndex{1});
  EXPECT_EQ(table_.find(PageId{7}).found, FaultTable::Found::nothing);
}

TEST_F(FaultTableTest, WithdrawnLoadsLeaveNothing) {
  for (std::uint64_t page = 64; page < 128; page += 8) {
    load(PageId{page}, FrameIndex{static_cast<std::uint32_t>(page - 64)});
  }
  table_.remove_loading(PageId{72}, FrameIndex{8});
  EXPECT_EQ(table_.find(PageId{72}).found, FaultTable::Found::nothing);
  EXPECT_EQ(table_.find(PageId{80}).frame, FrameIndex{16});
}

// Many threads want the same few pages: at any time at most one thread loads each.
TEST_F(FaultTableTest, OneLoaderAPage) {
  std::array<std::atomic<int>, 4> loaders{};
  std::atomic<int> met_another{0};
  const std::uint64_t seed = palimpsest::test::seed();
  palimpsest::test::run_threads(8, [&](std::size_t thread) {
    Random random(seed + thread);
    const FrameIndex frame{static_cast<std::uint32_t>(thread)};
    for (int i = 0; i < 20'000; ++i) {
      const std::size_t which = random.below(loaders.size());
      const PageId page{64 * which};
      frames_[frame].state.store(FrameState::loading);
      if (table_.insert(page, frame).found != FaultTable::Found::nothing) {
        continue;
      }
      met_another += loaders.at(which).fetch_add(1) == 0 ? 0 : 1;
      loaders.at(which).fetch_sub(1);
      if (random.one_in(2)) {
        table_.remove_loading(page, frame);
      } else {
        table_.mark_ready(page, frame);
        met_another += table_.take_ready(page, frame) ? 0 : 1;
      }
    }
  });
  EXPECT_EQ(met_another.load(), 0);
}

}  // namespace
}  // namespace palimpsest::buffer
