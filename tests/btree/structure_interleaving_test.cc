// Splits and merges between two steps of somebody else.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/sync_point.h"
#include "btree/btree.h"
#include "btree/cursor.h"
#include "tests/buffer/interleaving_support.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::btree {
namespace {

class StructureInterleaving : public palimpsest::test::InterleavingTest {
 protected:
  /// The records [first, last) of the leaf that holds this one.
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

// The cursor stands on the last record of a leaf. While it is on its way to the next leaf, that is
// merged into the first: the leaf it comes to holds the cursor's record too.
TEST_F(StructureInterleaving, CursorBetweenLeavesThatAreMerged) {
  if (buffer::kOptimisticTakesShared) {
    GTEST_SKIP() << "the thread would change the tree below a latch of its own";
  }
  const Records left = leaf_mates(500);
  const Records right = leaf_mates(left.last);
  const std::uint64_t last_of_left = left.last - 1;
  for (std::uint64_t i = left.first; i < last_of_left; ++i) {
    ASSERT_TRUE(tree().remove(key_of(i)));  // thin, and its neighbours are too full to merge
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

// Readers who come while a leaf is being split find every record, on either side.
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

// Readers and a writer who come while two leaves are being merged.
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

}  // namespace
}  // namespace palimpsest::btree

#endif
