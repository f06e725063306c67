// Pruning: an old reader retains the versions that it sees, and few more.
#include "versioning/prune.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/sync_point.h"
#include "tests/support/seed.h"
#include "tests/versioning/versioned_cells.h"

namespace palimpsest::versioning {
namespace {

using test::Cells;
using test::CellWriter;

constexpr auto kReads = Snapshots::Use::reads;

class PruneTest : public ::testing::Test {
 protected:
  void write(std::size_t cell, const std::optional<std::string>& value) {
    writer_.begin();
    ASSERT_TRUE(writer_.write(cell, value));
    writer_.commit();
    writer_.collect();
  }
  [[nodiscard]] std::size_t chain_length(std::size_t cell) {
    Entry* const entry = cells_.all[cell]->table->find(std::to_string(cell));
    std::size_t length = 0;
    if (entry != nullptr) {
      for (const Version* version = entry->newest(); version != nullptr;
           version = version->older()) {
        ++length;
      }
    }
    return length;
  }

  Cells cells_{3};
  CellWriter writer_{cells_};
  CellWriter reader_{cells_};
  CellWriter other_{cells_};
};

TEST_F(PruneTest, ChainsStayShortUnderAnOldReader) {
  write(0, "original");
  reader_.begin();
  std::size_t most = 0;
  for (int round = 0; round < 5000; ++round) {
    write(0, "round " + std::to_string(round));
    most = std::max(most, chain_length(0));
    ASSERT_EQ(reader_.read(0), "original");
  }
  EXPECT_LE(most, 3U);
  EXPECT_LE(writer_.versions().size_bytes(), 4U * 16384) << "chunks whose versions were dropped";
  reader_.roll_back();
  writer_.collect();
  EXPECT_EQ(chain_length(0), 0U);
}

// Each change patches another offset; nothing that the dropped patches held is lost.
TEST_F(PruneTest, WhatADroppedPatchSaidIsKept) {
  Random random(palimpsest::test::seed());
  std::string value(60, 'a');
  write(0, value);
  reader_.begin();
  const std::string original = value;
  for (int round = 0; round < 500; ++round) {
    // A tail or another length: CellWriter patches from the first byte that differs.
    const std::size_t from = random.below(value.size());
    for (std::size_t at = from; at < value.size(); ++at) {
      value[at] = static_cast<char>('a' + random.below(26));
    }
    if (random.one_in(20)) {
      value.resize(40 + random.below(40), 'x');
    }
    write(0, random.one_in(10) ? std::nullopt : std::optional(value));
    ASSERT_EQ(reader_.read(0), original);
    ASSERT_LE(chain_length(0), 3U);
  }
  reader_.roll_back();
}

TEST_F(PruneTest, ASnapshotBetweenKeepsBoth) {
  write(0, "one");
  reader_.begin();
  write(0, "two");
  other_.begin();
  write(0, "three");
  write(0, "four");
  write(0, "five");
  writer_.prune(0);
  EXPECT_EQ(reader_.read(0), "one");
  EXPECT_EQ(other_.read(0), "two");
  EXPECT_GE(chain_length(0), 2U);
  other_.roll_back();
  writer_.begin();
  writer_.prune(0);
  writer_.roll_back();
  EXPECT_EQ(chain_length(0), 1U);
  EXPECT_EQ(reader_.read(0), "one");
  reader_.roll_back();
}

#ifdef PALIMPSEST_SYNC_POINTS

// A record comes and goes after a writer has read the clock and before it publishes its snapshot:
// for that writer it is a change since it began.
TEST_F(PruneTest, WhatCameAndWentWhileAWriterBeganIsAConflict) {
  bool is_first = true;
  {
    const SyncHook hook("versioning.snapshot.read", [&] {
      if (!std::exchange(is_first, false)) {
        return;
      }
      write(2, std::nullopt);  // inserted and removed by one transaction
      writer_.begin();
      writer_.prune(2);
      writer_.roll_back();
    });
    other_.begin();
  }
  EXPECT_FALSE(other_.write(2, "mine"));
  other_.roll_back();
}

#endif

/// So many small changes that the versions before them are no longer recent.
constexpr int kPassRecent = 300;

// No thread adds a third version or visits the record: the owner merges its versions itself.
TEST_F(PruneTest, WhatATransactionHasLeftIsMergedSoon) {
  write(0, "first");
  reader_.begin();
  write(0, "second");
  write(0, "third");
  ASSERT_EQ(chain_length(0), 2U);
  for (int i = 0; i < kPassRecent; ++i) {
    write(1, "another " + std::to_string(i));
  }
  EXPECT_EQ(chain_length(0), 1U);
  EXPECT_EQ(reader_.read(0), "first");
  reader_.begin();
  EXPECT_EQ(reader_.read(0), "third");
  reader_.roll_back();
}

TEST_F(PruneTest, WhatASnapshotBetweenTellsApartIsNotMerged) {
  write(0, "first");
  reader_.begin();
  write(0, "second");
  other_.begin();
  write(0, "third");
  for (int i = 0; i < kPassRecent; ++i) {
    write(1, "another " + std::to_string(i));
  }
  EXPECT_EQ(chain_length(0), 2U);
  EXPECT_EQ(reader_.read(0), "first");
  EXPECT_EQ(other_.read(0), "second");
  reader_.roll_back();
  other_.roll_back();
}

// The thread that collects the version of a removal notes the leaf, so that the ghost is purged.
TEST_F(PruneTest, TheVersionOfARemovalIsNotMerged) {
  write(0, "first");
  reader_.begin();
  write(0, "second");
  write(0, std::nullopt);
  for (int i = 0; i < kPassRecent; ++i) {
    write(1, "another " + std::to_string(i));
  }
  EXPECT_EQ(chain_length(0), 2U);
  EXPECT_EQ(reader_.read(0), "first");
  reader_.roll_back();
}

// Merged chunks of a buffer's versions are freed; those that an old reader needs stay.
TEST_F(PruneTest, ManyRecordsThatChangeTimeAndAgainTakeLittle) {
  for (std::size_t cell = 0; cell < cells_.all.size(); ++cell) {
    write(cell, "original");
  }
  reader_.begin();
  Random random(palimpsest::test::seed());
  for (int round = 0; round < 3000; ++round) {
    const std::size_t cell = random.below(cells_.all.size());
    write(cell, "round " + std::to_string(round));
    ASSERT_EQ(reader_.read(cell), "original");
  }
  EXPECT_LE(writer_.versions().size_bytes(), 5U * 4096);
  reader_.roll_back();
}

// An idle slot retains nothing, though it may have prepared more than it used.
TEST_F(PruneTest, IdleMemoryIsGivenBack) {
  write(0, "one");
  for (int i = 0; i < 200; ++i) {
    write(static_cast<std::size_t>(i % 3), std::string(50, static_cast<char>('a' + i % 26)));
  }
  writer_.versions().prepare(4000);
  EXPECT_GT(writer_.versions().size_bytes(), 0U);
  writer_.collect();
  writer_.versions().trim();
  EXPECT_EQ(writer_.versions().size_bytes(), 0U);
  write(0, "again");
  reader_.begin();
  write(0, "and again");
  EXPECT_EQ(reader_.read(0), "again");
  writer_.versions().trim();
  EXPECT_EQ(reader_.read(0), "again");
  reader_.roll_back();
}

// Inserted and removed while an old reader is open: nothing of it is left.
TEST_F(PruneTest, WhatCameAndWentLeavesNothingForReaders) {
  reader_.begin(kReads);
  write(0, "job");
  write(0, std::nullopt);
  writer_.begin();  // looks at the snapshots again
  writer_.prune(0);
  writer_.roll_back();
  EXPECT_EQ(chain_length(0), 0U);
  EXPECT_EQ(reader_.read(0), std::nullopt);
  reader_.roll_back();
}

TEST_F(PruneTest, ATransactionThatMayStillWriteMeetsAConflict) {
  other_.begin();
  write(0, "job");
  write(0, std::nullopt);
  writer_.begin();
  writer_.prune(0);
  writer_.roll_back();
  EXPECT_GE(chain_length(0), 1U);
  EXPECT_FALSE(other_.write(0, "mine"));
  other_.roll_back();
}

#ifdef PALIMPSEST_SYNC_POINTS

// The snapshot's owner has read the clock, after other commits, and has not published its reading.
TEST_F(PruneTest, ASnapshotBeingTakenCounts) {
  write(0, "one");
  reader_.begin();
  write(0, "two");
  bool was_here = false;
  bool is_marked = false;
  bool has_changed = false;  // the writer takes snapshots, too
  {
    const SyncHook marked("versioning.snapshot.marked", [&] {
      if (!is_marked) {
        is_marked = true;
        write(0, "three");
        has_changed = true;
      }
    });
    const SyncHook read("versioning.snapshot.read", [&] {
      if (has_changed && !was_here) {
        was_here = true;
        write(0, "four");
        write(0, "five");
        write(0, "six");
        EXPECT_EQ(reader_.read(0), "one");
      }
    });
    other_.begin();
  }
  ASSERT_TRUE(was_here);
  EXPECT_EQ(other_.read(0), "three");
  other_.roll_back();
  reader_.roll_back();
}

#endif

}  // namespace
}  // namespace palimpsest::versioning
