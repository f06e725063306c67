// Splits and merges between two steps of another thread.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "btree/structure.h"
#include "tests/buffer/interleaving_support.h"
#include "tests/support/thread_group.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::btree {
namespace {

class StructureInterleaving : public palimpsest::test::InterleavingTest {
 protected:
  /// The index range [first, last) of the records in the leaf that holds a given record.
  struct Records {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  [[nodiscard]] Records leaf_mates(std::uint64_t record) {
    const PageId page = leaf_of(record).page;
    Records mates{record, record + 1};
    while (mates.first > 0 && leaf_of(mates.first - 1).page == page) {
      --mates.first;
    }
    while (mates.last < kRecords && leaf_of(mates.last).page == page) {
      ++mates.last;
    }
    return mates;
  }
};

// The cursor stands on the last record of a leaf. While it moves to the next leaf, that one is
// merged into the first: the leaf it reaches holds the cursor's record too.
TEST_F(StructureInterleaving, CursorBetweenLeavesThatAreMerged) {
  if (buffer::kOptimisticTakesShared) {
    GTEST_SKIP() << "the thread would change the tree below a latch of its own";
  }
  const Records left = leaf_mates(500);
  const Records right = leaf_mates(left.last);
  const std::uint64_t last_of_left = left.last - 1;
  for (std::uint64_t i = left.first; i < last_of_left; ++i) {
    // nearly empty, and its neighbours are too full to merge
    ASSERT_TRUE(tree().remove(key_of(i)));
  }
  ASSERT_NE(leaf_of(last_of_left).page, leaf_of(right.first).page);
  Cursor cursor(tree(), 1);
  cursor.seek(key_of(last_of_left));
  ASSERT_TRUE(cursor.valid());
  ASSERT_NO_FATAL_FAILURE(evict(right.first));
  std::atomic<bool> done = false;
  {
    const SyncHook hook("buffer.fault.swip_read", [&] {
      if (!done.exchange(true)) {
        for (std::uint64_t i = right.first + 2; i < right.last; ++i) {
          EXPECT_TRUE(tree().remove(key_of(i)));
        }
        EXPECT_EQ(leaf_of(last_of_left).page, leaf_of(right.first).page);
      }
    });
    cursor.next();
    ASSERT_TRUE(done);
  }
  for (const std::uint64_t expected : {right.first, right.first + 1, right.last}) {
    ASSERT_TRUE(cursor.valid());
    EXPECT_EQ(cursor.key(), key_of(expected));
    cursor.next();
  }
}

// Readers that arrive during the split of a leaf find every record, on either side.
TEST_F(StructureInterleaving, ReadersDuringASplit) {
  const Records mates = leaf_mates(300);
  SyncBarrier split("btree.split.carried_out");
  std::thread writer([&] {
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(tree().insert(key_of(300) + std::to_string(i), std::string(900, 'x')));
    }
  });
  split.wait_until_reached();
  std::vector<std::thread> readers;
  std::atomic<int> wrong = 0;
  for (std::uint64_t i = mates.first; i < mates.last; ++i) {
    readers.emplace_back([&, i] { wrong += value_of(i) == old_value(i) ? 0 : 1; });
  }
  split.release();
  writer.join();
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// Readers and a writer that arrive during the merge of two leaves.
TEST_F(StructureInterleaving, ReadersAndWriterDuringAMerge) {
  SyncBarrier merge("btree.merge.unlinked");
  std::thread remover([&] {
    for (std::uint64_t i = 301; i < 340; ++i) {
      EXPECT_TRUE(tree().remove(key_of(i)));
    }
  });
  merge.wait_until_reached();
  std::thread writer([&] { EXPECT_FALSE(tree().upsert(key_of(345), new_value(345))); });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (std::uint64_t i = 290; i <= 300; ++i) {
    readers.emplace_back([&, i] { wrong += value_of(i) == old_value(i) ? 0 : 1; });
  }
  merge.release();
  remover.join();
  writer.join();
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(value_of(345), new_value(345));
  EXPECT_EQ(value_of(320), "absent");
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

// A leaf to be split is not in memory. Before the thread loads it, merges leave the parent fewer
// children: the slot of the leaf's swip no longer exists.
TEST_F(StructureInterleaving, ChildMovesBeforeItIsBroughtIn) {
  const std::uint64_t last = kRecords - 1;
  ASSERT_NO_FATAL_FAILURE(evict(last));
  SyncBarrier missing("btree.child.not_resident");
  const Structure structure(tree().descent(), palimpsest::test::TreeDatabase::kTree);
  std::thread splitter([&] { EXPECT_NO_THROW(structure.split_leaf({}, key_of(last))); });
  missing.wait_until_reached();
  for (std::uint64_t i = 100; i < 900; ++i) {
    ASSERT_TRUE(tree().remove(key_of(i)));
  }
  missing.release();
  splitter.join();
  EXPECT_TRUE(palimpsest::test::sound(*database_));
  const Records mates = leaf_mates(last);
  EXPECT_LE(mates.last - mates.first, 6U) << "the leaf was split";
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    ASSERT_EQ(value_of(i), i >= 100 && i < 900 ? "absent" : old_value(i));
  }
}

// A split needs space in the root, and the root shrinks to a leaf before it is split: there is
// nothing left to split.
TEST_F(StructureInterleaving, RootShrinksBeforeItIsSplit) {
  ASSERT_EQ(tree().descent().root_level(), 1U);
  const auto long_key = [](std::uint64_t i) { return key_of(200) + std::to_string(100'000 + i); };
  SyncBarrier full("btree.split.parent_is_full");
  std::atomic<std::uint64_t> inserting = 0;
  std::atomic<bool> done = false;
  palimpsest::test::run_threads(2, [&](std::size_t thread) {
    if (thread == 0) {
      while (!done) {
        EXPECT_TRUE(tree().insert(long_key(inserting), std::string(900, 'x')));
        ++inserting;
      }
      return;
    }
    full.wait_until_reached();
    done = true;
    for (std::uint64_t i = 0; i < inserting; ++i) {
      EXPECT_TRUE(tree().remove(long_key(i)));
    }
    for (std::uint64_t i = 1; i < kRecords; ++i) {
      EXPECT_TRUE(tree().remove(key_of(i)));
    }
    EXPECT_EQ(tree().descent().root_level(), 0U);
    full.release();
  });
  std::string value;
  EXPECT_TRUE(tree().lookup(long_key(inserting - 1), value));
  EXPECT_EQ(value, std::string(900, 'x'));
  EXPECT_EQ(value_of(0), old_value(0));
  EXPECT_EQ(tree().descent().root_level(), 0U);
  EXPECT_TRUE(palimpsest::test::sound(*database_));
}

}  // namespace
}  // namespace palimpsest::btree

#endif
