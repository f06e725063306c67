// Roots that come and go: many more trees than frames, and threads between the two looks at a swip.
#include "buffer/root_places.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/audit.h"
#include "buffer/tree_root.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"
#include "tests/support/thread_group.h"
#include "tests/support/wait_for_writes.h"

namespace palimpsest::buffer {
namespace {

using btree::BTree;
using palimpsest::test::error_of;

/// A tree with many leaves, which evicts the roots of other trees when it is read; and small ones,
/// which consist of their root.
class RootPlacesTest : public palimpsest::test::InterleavingTest {
 protected:
  static constexpr std::uint32_t kFirstTree = 100;

  BTree& make(std::uint32_t number) {
    trees_.push_back(
        BTree::create(database_->pool(), database_->large_values(), TreeId{kFirstTree + number}));
    EXPECT_TRUE(trees_.back().insert("key", text_of(number)));
    return trees_.back();
  }
  static std::string text_of(std::uint32_t number) { return "value " + std::to_string(number); }
  static std::string value_in(const BTree& tree) {
    std::string value = "absent";
    static_cast<void>(tree.lookup("key", value));
    return value;
  }
  [[nodiscard]] static Swip swip_of(const BTree& tree) {
    return tree.descent().root().place().swip();
  }
  /// Reads the large tree until a condition holds.
  template <class Holds>
  void read_until(const Holds& holds) {
    database_->pool().flush();
    for (std::uint64_t other = 0; !holds(); other += 7) {
      ASSERT_LT(other, 200'000'000U);
      static_cast<void>(value_of(other % kRecords));
    }
  }
  void evict_root(const BTree& tree) {
    read_until([&] { return !swip_of(tree).swizzled(); });
  }
  [[nodiscard]] ::testing::AssertionResult all_sound() {
    palimpsest::test::wait_for_writes(database_->writer());
    btree::PageSet reached;
    std::string text = btree::audit(tree(), reached).text();
    bool is_sound = text.ends_with("sound\n");
    for (const BTree& small : trees_) {
      const btree::TreeAudit audit = btree::audit(small, reached);
      is_sound = is_sound && audit.sound();
      text += audit.sound() ? std::string() : audit.text();
    }
    const btree::Findings space =
        btree::audit_space(database_->file(), database_->space(), reached);
    return is_sound && space.none() ? ::testing::AssertionSuccess()
                                    : ::testing::AssertionFailure() << text << space.text();
  }

  std::vector<BTree> trees_;
};

TEST_F(RootPlacesTest, ManyMoreTreesThanFrames) {
  constexpr std::uint32_t kTrees = 600;  // in three pages of roots
  for (std::uint32_t number = 0; number < kTrees; ++number) {
    make(number);
  }
  EXPECT_EQ(database_->pool().roots().taken(), kTrees + 1);
  for (std::uint32_t number = 0; number < kTrees; ++number) {
    ASSERT_EQ(value_in(trees_[number]), text_of(number));
  }
  EXPECT_TRUE(all_sound());
}

TEST_F(RootPlacesTest, ARootThatIsNotThereIsReadAhead) {
  const BTree& small = make(1);
  evict_root(small);
  // A prefetch never waits: while an eviction holds the latch of the page of roots, it loads
  // nothing.
  EXPECT_TRUE(palimpsest::test::eventually([&] {
    small.prefetch(std::vector<ByteView>{"key"});
    return swip_of(small).swizzled();
  }));
  EXPECT_EQ(value_in(small), text_of(1));
}

TEST_F(RootPlacesTest, ARootWithChildrenStays) {
  EXPECT_FALSE(swip_of(tree()).swizzled()) << "no thread has needed it";
  EXPECT_EQ(value_of(0), old_value(0));
  const Swip root = swip_of(tree());
  for (std::uint64_t i = 0; i < 5 * kRecords; i += 7) {
    static_cast<void>(value_of(i % kRecords));
    ASSERT_EQ(swip_of(tree()), root);
  }
}

TEST_F(RootPlacesTest, APlaceIsGivenBackWithItsTree) {
  const std::uint64_t before = database_->pool().roots().taken();
  const BTree& small = make(1);
  EXPECT_EQ(database_->pool().roots().taken(), before + 1);
  evict_root(small);
  small.descent().root().free(small.descent().root().latch());
  EXPECT_EQ(database_->pool().roots().taken(), before);
  trees_.clear();
  EXPECT_EQ(value_in(make(2)), text_of(2));
  EXPECT_TRUE(all_sound());
}

// How long a root then stays depends on the pace of the reclaimer's rounds: with few frames, one
// that finds nothing cold goes round all of them several times, and cools every page.
TEST_F(RootPlacesTest, AUseOfARootCounts) {
  const BTree& small = make(1);
  ASSERT_EQ(value_in(small), text_of(1));
  Frame& root = database_->pool().frames()[swip_of(small).frame()];
  root.cool.store(true);  // as the reclaimer's visit does
  ASSERT_EQ(value_in(small), text_of(1));
  EXPECT_FALSE(root.cool.load());
}

TEST_F(RootPlacesTest, MoreTreesThanThereArePlacesForAreRefused) {
  BufferPool& pool = database_->pool();
  const std::uint64_t most = pool.roots().most();
  EXPECT_EQ(most, kOptions.frames / 2 * ((kOptions.page_size_bytes - 64) / 16));
  while (pool.roots().taken() < most) {
    static_cast<void>(TreeRoot::open(pool, PageId{1'000'000 + pool.roots().taken()}, TreeId{1000}));
  }
  EXPECT_EQ(error_of([&] { return TreeRoot::open(pool, PageId{1}, TreeId{1000}); },
                     "raise Options::memory_bytes"),
            ErrorCode::out_of_memory);
  EXPECT_EQ(value_of(7), old_value(7));  // half of the frames are for other pages
  EXPECT_TRUE(tree().update(key_of(7), new_value(7)));
}

TEST_F(RootPlacesTest, ManyThreadsReadAndWriteMoreTreesThanFrames) {
  constexpr std::uint32_t kTrees = 120;
  constexpr std::size_t kThreads = 4;
  for (std::uint32_t number = 0; number < kTrees; ++number) {
    make(number);
  }
  const std::uint64_t seed = palimpsest::test::seed();
  std::atomic<int> writes{0};
  palimpsest::test::run_threads(kThreads, [&](std::size_t thread) {
    Random random(seed + thread);
    for (int i = 0; i < 3000; ++i) {
      const auto number = static_cast<std::uint32_t>(random.below(kTrees));
      if (random.below(8) == 0) {
        const std::string key = std::to_string(thread) + "-" + std::to_string(i);
        writes += trees_[number].insert(key, std::string(200, 'v')) ? 1 : 0;
      } else if (random.below(8) == 0) {
        ASSERT_EQ(value_of(random.below(kRecords)).size(), old_value(0).size());
      } else {
        ASSERT_EQ(value_in(trees_[number]), text_of(number));
      }
    }
  });
  EXPECT_GT(writes, 400);
  EXPECT_TRUE(all_sound());
}

#ifdef PALIMPSEST_SYNC_POINTS

/// A reader of a small tree has read where the root is, and has not yet read the version of that
/// frame.
class RootPlacesInterleaving : public RootPlacesTest {
 protected:
  template <class Meanwhile>
  void expect_read_around(const Meanwhile& meanwhile) {
    BTree& small = make(1);
    ASSERT_TRUE(swip_of(small).swizzled());
    SyncBarrier barrier("buffer.root.swip_read");
    std::string value;
    std::thread reader([&] { value = value_in(small); });
    barrier.wait_until_reached();
    meanwhile(small);
    barrier.release();
    reader.join();
    EXPECT_EQ(value, text_of(1));
    EXPECT_TRUE(all_sound());
  }
  /// Another page gets the frame of the root.
  void reuse_frame_of_root(const BTree& small) {
    const FrameIndex frame = swip_of(small).frame();
    evict_root(small);
    read_until([&] {
      const Frame& header = database_->pool().frames()[frame];
      return header.state.load() == FrameState::resident &&
             header.page_id.load() != small.root_page();
    });
  }
};

TEST_F(RootPlacesInterleaving, Evicted) {
  expect_read_around([&](BTree& small) { evict_root(small); });
}

TEST_F(RootPlacesInterleaving, EvictedAndItsFrameIsAnotherPages) {
  expect_read_around([&](BTree& small) { reuse_frame_of_root(small); });
}

TEST_F(RootPlacesInterleaving, EvictedAndBackElsewhere) {
  expect_read_around([&](BTree& small) {
    reuse_frame_of_root(small);
    EXPECT_EQ(value_in(small), text_of(1));
  });
}

TEST_F(RootPlacesInterleaving, GrownMeanwhile) {
  expect_read_around([&](BTree& small) {
    for (int i = 0; small.descent().root_level() == 0; ++i) {
      ASSERT_TRUE(small.insert("a" + std::to_string(i), std::string(500, 'a')));
    }
  });
}

#endif

}  // namespace
}  // namespace palimpsest::buffer
