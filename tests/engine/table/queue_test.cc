// A queue: rows are inserted at the end of a table, and the first one is found and erased. Leaves
// behind the front must not slow down the search, whatever prevented their purge when the front
// left them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "btree/ghost_leaves.h"
#include "btree/leaf_walk.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/seed.h"

namespace palimpsest::engine::test {
namespace {

using txn::TransactionPtr;

EngineOptions queue_options() {
  EngineOptions options = small_options();
  options.version_bytes_max = std::uint64_t{8} << 20U;
  options.log_bytes_max = std::uint64_t{256} << 20U;  // no checkpoints run
  return options;
}

class QueueTest : public ::testing::Test {
 protected:
  [[nodiscard]] TransactionPtr begin(txn::SnapshotUse use = txn::SnapshotUse::reads_and_writes) {
    return table_.database().begin(txn::Durability::asynchronous, txn::Isolation::snapshot, use);
  }
  void put(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const auto giver = begin();
      ASSERT_TRUE(table_.in(giver).insert({end_, "job", "Rome", 30, note_}));
      giver->commit();
      jobs_.insert(end_++);
    }
  }
  void put_back(int job) {
    const auto giver = begin();
    ASSERT_TRUE(table_.in(giver).insert({job, "again", "Rome", 30, note_}));
    giver->commit();
    jobs_.insert(job);
  }
  template <class Use>
  void visit(const TransactionPtr& transaction, const Use& use) {
    table_.reads(transaction.get())
        .visit(
            Range::all(),
            [&](const RowView& row) { return use(static_cast<int>(row["id"].as_integer())); },
            Direction::forward);
  }
  [[nodiscard]] std::optional<int> first_of(const TransactionPtr& transaction) {
    std::optional<int> first;
    visit(transaction, [&](int job) {
      first = job;
      return false;
    });
    return first;
  }
  void take(int count = 1) {
    for (int i = 0; i < count; ++i) {
      const auto taker = begin();
      ASSERT_EQ(first_of(taker), *jobs_.begin());
      ASSERT_TRUE(table_.in(taker).erase({*jobs_.begin()}));
      taker->commit();
      jobs_.erase(jobs_.begin());
    }
  }
  [[nodiscard]] std::set<int> seen_by(const TransactionPtr& reader) {
    std::set<int> seen;
    visit(reader, [&](int job) {
      EXPECT_TRUE(seen.insert(job).second);
      return true;
    });
    return seen;
  }
  /// The number of leaves, and of those without records.
  struct Leaves {
    std::size_t all = 0;
    std::size_t dead = 0;
  };
  [[nodiscard]] Leaves leaves() {
    Leaves leaves;
    btree::LeafWalk walk(table_.current().rows->descent(), {.lower = {}, .upper = std::nullopt},
                         btree::Direction::forward);
    while (walk.next()) {
      ++leaves.all;
      leaves.dead += btree::GhostLeaves::is_dead(walk.leaf()) ? 1U : 0U;
    }
    return leaves;
  }

  const std::string note_ = std::string(80, 'x');
  OneTable table_{people(), {}, queue_options()};
  std::set<int> jobs_;
  int end_ = 1;
};

/// The dead leaves that are acceptable at any time: a few that no search passes, and one a parent.
constexpr std::size_t kGhostLeavesMax = 6;

// A transaction that may still write prevents the purge of the ghosts at the front, time and again.
TEST_F(QueueTest, LeavesNeededWhenTheFrontPassedGoLater) {
  put(200);
  std::size_t most = 0;
  for (int round = 0; round < 60; ++round) {
    const auto other = begin();
    ASSERT_EQ(first_of(other), *jobs_.begin());
    for (int i = 0; i < 100; ++i) {
      put();
      take();
    }
    other->commit();
    for (int i = 0; i < 20; ++i) {
      put();
      take();
    }
    most = std::max(most, leaves().dead);
  }
  EXPECT_LE(most, kGhostLeavesMax);
  EXPECT_EQ(table_.rows().size(), 200U);
  EXPECT_TRUE(sound(table_.database()));
}

// The slot that removed them has hints for some, but it is not used again; other slots pass them.
TEST_F(QueueTest, LeavesThatAnotherSlotHasLeftGo) {
  put(200);
  const auto other = begin();
  ASSERT_EQ(first_of(other), *jobs_.begin());
  for (int i = 0; i < 600; ++i) {
    put();
    take();
  }
  const auto has_the_slot =
      table_.database().begin(txn::Durability::asynchronous, txn::Isolation::read_committed);
  other->commit();
  for (int i = 0; i < 1000; ++i) {
    put();
    take();
  }
  EXPECT_LE(leaves().dead, kGhostLeavesMax);
  has_the_slot->commit();
}

// A read-only transaction retains the rows that it needs, and nothing else.
TEST_F(QueueTest, AnOldReaderKeepsWhatItSeesAndNoMore) {
  put(1000);
  const Leaves before = leaves();
  const auto reader = begin(txn::SnapshotUse::reads);
  const std::set<int> seen = jobs_;
  for (int i = 0; i < 6000; ++i) {
    put();
    take();
  }
  EXPECT_LE(leaves().dead, before.all + kGhostLeavesMax);
  EXPECT_EQ(seen_by(reader), seen);
  reader->commit();
  for (int i = 0; i < 3000; ++i) {
    put();
    take();
  }
  EXPECT_LE(leaves().dead, kGhostLeavesMax);
  EXPECT_TRUE(sound(table_.database()));
}

// A leaf that walks skip is looked at again once it has changed.
TEST_F(QueueTest, AJobThatIsPutBackIsFound) {
  put(1000);
  const auto reader = begin(txn::SnapshotUse::reads);
  const std::set<int> seen = jobs_;
  take(900);
  for (const int job : {700, 450, 3, 1}) {
    put_back(job);
    take(5);
  }
  EXPECT_EQ(seen_by(reader), seen);
  EXPECT_EQ(seen_by(begin()), jobs_);
}

// Readers and writers come and go at random, with the smallest possible pool; every transaction
// sees the queue as it was when it began.
TEST_F(QueueTest, EverySnapshotSeesTheQueueAsItWas) {
  struct Reader {
    TransactionPtr transaction;
    std::set<int> jobs;
  };
  const std::uint64_t seed = palimpsest::test::seed();
  Random random(seed);
  put(500);
  std::vector<Reader> readers;
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t dice = random.below(40);
    if (dice == 0 && readers.size() < 4) {
      const auto use =
          random.below(2) == 0 ? txn::SnapshotUse::reads : txn::SnapshotUse::reads_and_writes;
      readers.push_back({begin(use), jobs_});
    } else if (dice == 1 && !readers.empty()) {
      const std::size_t which = random.below(readers.size());
      ASSERT_EQ(seen_by(readers[which].transaction), readers[which].jobs)
          << "seed " << seed << ", step " << step;
      readers[which].transaction->commit();
      readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (dice == 2 && end_ > 1) {
      const int job = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(end_ - 1)));
      if (!jobs_.contains(job)) {
        put_back(job);
      }
    } else if (dice < 20 && jobs_.size() < 1000) {
      put(static_cast<int>(random.below(6)));
    } else if (jobs_.size() > 20) {
      take(static_cast<int>(random.below(6)));
    }
  }
  readers.clear();
  take(static_cast<int>(jobs_.size()));
  EXPECT_TRUE(sound(table_.database()));
}

}  // namespace
}  // namespace palimpsest::engine::test
