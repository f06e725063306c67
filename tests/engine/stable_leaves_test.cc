// Leaves that are stable for a new snapshot, beside an old one: read without looking at versions,
// and never too early (I-12).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"
#include "txn/read_scope.h"

#ifdef PALIMPSEST_SYNC_POINTS

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::SimDisk;
using txn::Durability;
using txn::Isolation;

constexpr int kRecords = 200;
constexpr int kElsewhere = kRecords - 1;  // in another leaf than the first ones

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

class StableLeaves : public ::testing::Test {
 protected:
  StableLeaves() : device_(disk_.device()) {
    EngineOptions options = small_options();
    // large enough that no transaction becomes too old
    options.log_bytes_max = 64 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    tree_ = database_->make_tree("tree");
    const auto transaction = begin();
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_FALSE(transaction->insert(*tree_, key_of(i), "before").existed);
    }
    transaction->commit();
    old_ = begin();
  }

  [[nodiscard]] txn::TransactionPtr begin(Isolation isolation = Isolation::snapshot) {
    return database_->begin(Durability::asynchronous, isolation);
  }
  [[nodiscard]] std::string read(const txn::TransactionPtr& by, int number) {
    std::string value;
    return txn::lookup(*by, *tree_, key_of(number), value) ? value : "none";
  }
  void change(const txn::TransactionPtr& by, int number, ByteView value) {
    ASSERT_FALSE(by->upsert(*tree_, key_of(number), value).conflict);
  }
  /// Other transactions commit: the clock advances, and slots compute what is stable.
  void other_transactions_commit() {
    for (int i = 0; i < 3; ++i) {
      const auto other = begin();
      change(other, kElsewhere, fmt::format("other {}", ++others_));
      other->commit();
    }
  }
  /// What a new transaction sees.
  [[nodiscard]] std::string read_newly(int number) { return read(begin(), number); }
  /// The number of times that such a read latches a leaf.
  [[nodiscard]] std::uint64_t latches_of_reading(const txn::TransactionPtr& by, int number,
                                                 std::string_view expected) {
    const SyncHook latching("btree.read.latching", [] {});
    EXPECT_EQ(read(by, number), expected);
    return latching.hits();
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_ = nullptr;
  txn::TransactionPtr old_;  ///< keeps all versions
  int others_ = 0;
};

TEST_F(StableLeaves, AreReadAsTheyLieByNewSnapshots) {
  const auto writer = begin();
  change(writer, 0, "after");
  ASSERT_FALSE(writer->remove(*tree_, key_of(1)).conflict);
  writer->commit();
  other_transactions_commit();
  const auto fresh = begin();
  EXPECT_EQ(latches_of_reading(fresh, 0, "after"), 0U);
  EXPECT_EQ(latches_of_reading(fresh, 1, "none"), 0U);
  EXPECT_EQ(latches_of_reading(old_, 0, "before"), 1U);
  EXPECT_EQ(latches_of_reading(old_, 1, "before"), 1U);
  const auto committed = begin(Isolation::read_committed);
  EXPECT_EQ(latches_of_reading(committed, 0, "after"), 0U);
  change(fresh, 0, "own");
  EXPECT_EQ(read(fresh, 0), "own");
  EXPECT_EQ(read(committed, 0), "after");
  EXPECT_EQ(read_newly(0), "after");
}

TEST_F(StableLeaves, AreNotWhileATransactionChangesThem) {
  for (const Isolation isolation : {Isolation::snapshot, Isolation::read_committed}) {
    const auto writer = begin(isolation);
    const std::string value = fmt::format("after {}", name_of(isolation));
    const std::string before = read_newly(0);
    change(writer, 0, value);
    other_transactions_commit();
    const auto during = begin();
    EXPECT_EQ(read(during, 0), before);
    EXPECT_EQ(read_newly(0), before);
    writer->commit();
    EXPECT_EQ(read(during, 0), before);
    EXPECT_EQ(read_newly(0), value);
    other_transactions_commit();
    EXPECT_EQ(read(during, 0), before);
    EXPECT_EQ(latches_of_reading(begin(), 0, value), 0U);
  }
  EXPECT_EQ(read(old_, 0), "before");
}

// A writer has begun long ago, and ends after later ones have.
TEST_F(StableLeaves, AreNotBecauseOtherTransactionsHaveEnded) {
  const auto writer = begin();
  change(writer, 0, "after");
  other_transactions_commit();
  const auto other = begin();
  change(other, 1, "other");
  other->commit();
  other_transactions_commit();
  const auto during = begin();
  EXPECT_EQ(read(during, 0), "before");
  EXPECT_EQ(read(during, 1), "other");
  writer->commit();
  other_transactions_commit();
  EXPECT_EQ(read(during, 0), "before");
  EXPECT_EQ(read_newly(0), "after");
}

// The commit's timestamp is not drawn yet: snapshots taken now do not see it.
TEST_F(StableLeaves, AreNotWhenACommitHasBegun) {
  const auto writer = begin();
  change(writer, 0, "after");
  txn::TransactionPtr during;
  {
    bool first = true;
    const SyncHook begun("txn.commit.begun", [&] {
      if (std::exchange(first, false)) {
        other_transactions_commit();
        during = begin();
        EXPECT_EQ(read(during, 0), "before");
      }
    });
    writer->commit();
  }
  other_transactions_commit();
  EXPECT_EQ(read(during, 0), "before");
  EXPECT_EQ(read_newly(0), "after");
}

TEST_F(StableLeaves, AreNotBetweenTheStepsOfARollback) {
  const auto writer = begin();
  change(writer, 0, "after");
  change(writer, 0, "after that");
  change(writer, 1, "after");
  int steps = 0;
  {
    const SyncHook undone("txn.undo.done", [&] {
      ++steps;
      other_transactions_commit();
      EXPECT_EQ(read_newly(0), "before");
      EXPECT_EQ(read_newly(1), "before");
    });
    writer->rollback();
  }
  EXPECT_EQ(steps, 3);
  other_transactions_commit();
  EXPECT_EQ(latches_of_reading(begin(), 0, "before"), 0U);
}

// An undone statement leaves nothing, but its transaction goes on.
TEST_F(StableLeaves, AreNotWhenAStatementWasUndone) {
  struct Undone {
    [[nodiscard]] static bool is_done() { return false; }
  };
  const auto writer = begin();
  writer->statement([&](const btree::WriteContext& by) {
    EXPECT_FALSE(tree_->upsert(by, key_of(0), "undone").conflict);
    return Undone();
  });
  other_transactions_commit();
  EXPECT_EQ(read_newly(0), "before");
  change(writer, 0, "after");
  other_transactions_commit();
  const auto during = begin();
  EXPECT_EQ(read(during, 0), "before");
  writer->commit();
  EXPECT_EQ(read(during, 0), "before");
  EXPECT_EQ(read_newly(0), "after");
}

// The page leaves memory with uncommitted changes, and its records move to other leaves.
TEST_F(StableLeaves, AreNotWhereverTheChangesGo) {
  const auto writer = begin();
  for (int i = 0; i < kRecords - 1; i += 10) {
    change(writer, i, "after");
  }
  const auto fill = [&](const auto& change_one) {
    for (int round = 0; round < 30; ++round) {
      const auto filler = begin(Isolation::none);
      for (int i = 0; i < 100; ++i) {
        const int number = 100 * round + i;
        change_one(*filler, key_of(number * 7 % kRecords) + fmt::format("{:06}", number));
      }
      filler->commit();
      database_->checkpointer().run();
    }
  };
  fill([&](txn::Transaction& by, const std::string& key) {
    ASSERT_FALSE(by.insert(*tree_, key, std::string(200, 'o')).existed);
  });
  const auto expect_seen_as = [&](const txn::TransactionPtr& by, std::string_view changed) {
    for (int i = 0; i < kRecords - 1; ++i) {
      ASSERT_EQ(read(by, i), i % 10 == 0 ? changed : "before") << i;
    }
  };
  other_transactions_commit();
  const auto during = begin();
  ASSERT_NO_FATAL_FAILURE(expect_seen_as(during, "before"));
  fill([&](txn::Transaction& by, const std::string& key) {
    ASSERT_TRUE(by.remove(*tree_, key).existed);
  });
  other_transactions_commit();
  ASSERT_NO_FATAL_FAILURE(expect_seen_as(begin(), "before"));
  writer->commit();
  other_transactions_commit();
  ASSERT_NO_FATAL_FAILURE(expect_seen_as(during, "before"));
  ASSERT_NO_FATAL_FAILURE(expect_seen_as(begin(), "after"));
  ASSERT_NO_FATAL_FAILURE(expect_seen_as(old_, "before"));
}

}  // namespace
}  // namespace palimpsest::engine::test

#endif
