// Memory for versions is bounded: a transaction that takes too much, or keeps too much alive, gets
// an error, and all other transactions go on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/sync_point.h"
#include "base/thread_annotations.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using txn::Durability;
using txn::Isolation;
using txn::SnapshotUse;

constexpr std::uint64_t kBudget = std::uint64_t{1} << 20U;
/// For buffer pieces that are requested when the budget is nearly full, and for claims, which have
/// no bound.
constexpr std::uint64_t kSlack = kBudget / 4;
constexpr int kRecords = 2000;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

bool is_done(const btree::WriteOutcome& outcome) {
  return outcome.existed && !outcome.conflict;
}

class VersionMemory : public ::testing::Test {
 public:
  ~VersionMemory() override { database_->close(); }

 protected:
  VersionMemory() : device_(disk_.device()) {
    EngineOptions options = small_options();
    options.version_bytes_max = kBudget;
    options.memory_bytes = std::uint64_t{16} << 20U;
    options.log_bytes_max = 64 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    tree_ = database_->make_tree("tree");
    const auto transaction = database_->begin(Durability::asynchronous, Isolation::none);
    for (int i = 0; i < kRecords; ++i) {
      EXPECT_FALSE(transaction->insert(*tree_, key_of(i), std::string(200, 'v')).existed);
    }
    transaction->commit();
    database_->checkpointer().run();
  }

  [[nodiscard]] txn::TransactionPtr begin(SnapshotUse use = SnapshotUse::reads_and_writes) {
    return database_->begin(Durability::asynchronous, Isolation::snapshot, use);
  }
  [[nodiscard]] std::string read(const txn::TransactionPtr& by, int number) {
    std::string value;
    EXPECT_TRUE(txn::lookup(*by, *tree_, key_of(number), value));
    return value;
  }
  void change_all(char to) {
    for (int i = 0; i < kRecords; ++i) {
      const auto transaction = begin();
      ASSERT_TRUE(is_done(transaction->update(*tree_, key_of(i), std::string(200, to))));
      transaction->commit();
      if (i % 500 == 0) {
        database_->checkpointer().run();
      }
    }
  }
  [[nodiscard]] std::uint64_t in_use() { return database_->entries().bytes_in_use(); }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_ = nullptr;
};

TEST_F(VersionMemory, OneTransactionTakesHalfAtMost) {
  const auto large = begin();
  int changed = 0;
  std::string message;
  const auto grow = [&] {
    for (; changed < 100 * kRecords; ++changed) {
      const char to = static_cast<char>('a' + changed / kRecords % 26);
      static_cast<void>(large->update(*tree_, key_of(changed % kRecords), std::string(200, to)));
      EXPECT_LE(in_use(), kBudget + kSlack);
    }
  };
  const auto error = error_of(grow, &message);
  EXPECT_EQ(error, ErrorCode::version_budget_exceeded);
  EXPECT_NE(message.find("half of the 1048576"), std::string::npos) << message;
  EXPECT_GT(changed, 1000);
  {
    const auto other = begin();  // other transactions go on
    EXPECT_EQ(read(other, 0), std::string(200, 'v'));
    other->commit();
  }
  large->rollback();
  const auto next = begin();
  EXPECT_EQ(read(next, 7), std::string(200, 'v'));
  EXPECT_TRUE(is_done(next->update(*tree_, key_of(7), "small")));
  next->commit();
}

TEST_F(VersionMemory, TheOldestSnapshotGoes) {
  const auto old = begin();  // a writer: beside a read-only one new keys are folded (folding_test)
  ASSERT_EQ(read(old, 3), std::string(200, 'v'));
  for (const char to : {'a', 'b', 'c', 'd', 'e', 'f'}) {
    // New keys each time: a version each that the old one needs.
    const auto transaction = begin();
    for (int i = 0; i < kRecords; ++i) {
      const std::string key = fmt::format("{}{:06}", to, i);
      ASSERT_FALSE(transaction->insert(*tree_, key, "x").conflict);
    }
    transaction->commit();
    database_->checkpointer().run();
    ASSERT_LE(in_use(), kBudget + kSlack);
  }
  ASSERT_NO_FATAL_FAILURE(change_all('w'));
  ASSERT_LE(in_use(), kBudget + kSlack);
  EXPECT_GE(database_->transactions().version_memory().cancelled(), 1U);
  std::string value;
  const auto error =
      error_of([&] { static_cast<void>(txn::lookup(*old, *tree_, key_of(3), value)); });
  EXPECT_EQ(error, ErrorCode::snapshot_too_old);
  EXPECT_EQ(error_of([&] { old->commit(); }), ErrorCode::snapshot_too_old);
  old->rollback();
}

TEST_F(VersionMemory, ACancelledTransactionNeverCommitsAWrite) {
  const auto writer = begin();
  ASSERT_TRUE(is_done(writer->update(*tree_, key_of(0), "mine")));
  ASSERT_TRUE(database_->transactions().version_memory().cancelled() == 0);
  while (database_->transactions().version_memory().cancelled() == 0) {
    ASSERT_NO_FATAL_FAILURE({
      for (int i = 1; i < kRecords; ++i) {
        const auto transaction = begin();
        ASSERT_TRUE(is_done(
            transaction->update(*tree_, key_of(i), std::string(i % 2 == 0 ? 200U : 201U, 'w'))));
        ASSERT_FALSE(transaction->upsert(*tree_, key_of(kRecords + i), "new").conflict);
        transaction->commit();
      }
      database_->checkpointer().run();
    });
  }
  EXPECT_EQ(error_of([&] { static_cast<void>(writer->update(*tree_, key_of(1), "mine")); }),
            ErrorCode::snapshot_too_old);
  EXPECT_EQ(error_of([&] { writer->commit(); }), ErrorCode::snapshot_too_old);
  writer->rollback();
  const auto next = begin();
  EXPECT_EQ(read(next, 0), std::string(200, 'v'));
  next->commit();
}

#ifdef PALIMPSEST_SYNC_POINTS

// Another transaction takes the memory that a statement has freed: the statement frees more, and
// goes on.
TEST_F(VersionMemory, AThreadThatMadeRoomGoesOnWhenOtherThreadsTakeIt) {
  constexpr int kTheirs = kRecords / 2;
  txn::TransactionPtr other;
  int taken = 0;
  const SyncHook made("txn.room.made", [&] {
    if (other != nullptr) {
      return;  // the statement that gets it may have made some, too
    }
    other = begin();
    for (; in_use() < kBudget && taken < kTheirs; ++taken) {
      EXPECT_TRUE(is_done(other->update(*tree_, key_of(kTheirs + taken), std::string(200, 'o'))));
    }
  });
  const auto old = begin(SnapshotUse::reads);  // is cancelled
  for (int round = 1; other == nullptr; ++round) {
    ASSERT_LT(round, 1000) << "it is never full";
    const auto transaction = begin();
    for (int i = 0; i < 100; ++i) {  // new keys: a version each that the old reader needs
      ASSERT_FALSE(transaction->insert(*tree_, key_of(kRecords * round + i), "x").conflict);
    }
    transaction->commit();
    database_->checkpointer().run();
  }
  EXPECT_LT(taken, kTheirs) << "there was more room than one can take";
  EXPECT_GT(taken, 0);
  other->rollback();
}

#endif

// Rows come and go beside an old reader: neither memory nor the tree grows.
TEST_F(VersionMemory, AQueueBesideAnOldReaderStaysFlat) {
  const auto old = begin(SnapshotUse::reads);
  ASSERT_EQ(read(old, 0), std::string(200, 'v'));
  std::uint64_t early = 0;
  constexpr int kJobs = 30'000;
  constexpr int kLength = 20;
  for (int job = 0; job < kJobs; ++job) {
    const auto transaction = begin();
    ASSERT_FALSE(transaction->insert(*tree_, fmt::format("queue{:08}", job), "work").conflict);
    if (job >= kLength) {
      const std::string done = fmt::format("queue{:08}", job - kLength);
      ASSERT_TRUE(is_done(transaction->remove(*tree_, done)));
    }
    transaction->commit();
    if (job % 2000 == 0) {
      database_->checkpointer().run();
    }
    early = job == kJobs / 10 ? in_use() : early;
  }
  EXPECT_LE(in_use(), 2 * early + 65536);
  EXPECT_EQ(database_->transactions().version_memory().cancelled(), 0U);
  EXPECT_EQ(read(old, kRecords - 1), std::string(200, 'v'));
  old->commit();
}

// A slot's versions are freed even if the slot is never used again.
TEST_F(VersionMemory, IdleSlotsGiveTheirsBack) {
  const auto old = begin();
  {
    const auto writer = begin();
    ASSERT_TRUE(is_done(writer->update(*tree_, key_of(0), "new")));
    writer->commit();
  }
  EXPECT_EQ(read(old, 0), std::string(200, 'v'));
  database_->transactions().prune_tables([] { return false; });
  const std::uint64_t entries = database_->entries().entries();
  ASSERT_GE(entries, 1U);
  old->commit();
  static_cast<void>(database_->checkpointer().step());
  database_->transactions().prune_tables([] { return false; });
  EXPECT_EQ(database_->entries().entries(), entries - 1);
}

// Soon after changes end, reads are as fast as before: no tables are left at the pages.
TEST_F(VersionMemory, TablesGoOnceNothingIsChanged) {
  for (int i = 0; i < kRecords; i += 100) {
    const auto writer = begin();
    for (int j = i; j < i + 100; ++j) {
      ASSERT_TRUE(is_done(writer->update(*tree_, key_of(j), "new")));
    }
    writer->commit();
  }
  ASSERT_GE(database_->entries().entries(), static_cast<std::uint64_t>(kRecords) / 2);
  EXPECT_TRUE(palimpsest::test::eventually([&] {
    static_cast<void>(database_->checkpointer().step());
    return database_->entries().tables() == 0;
  }));
}

/// Holds one page in three.
class EveryThird {
 public:
  explicit EveryThird(const std::vector<buffer::Frame*>& frames) PALIMPSEST_NO_ANALYSIS
      : frames_(frames) {
    for (std::size_t i = 0; i < frames_.size(); i += 3) {
      frames_[i]->latch.lock_exclusive();
    }
  }
  void release() const PALIMPSEST_NO_ANALYSIS {
    for (std::size_t i = 0; i < frames_.size(); i += 3) {
      frames_[i]->latch.unlock_exclusive_unchanged();
    }
  }

 private:
  const std::vector<buffer::Frame*>& frames_;
};

// A thread that prunes tables does not wait for a page.
TEST_F(VersionMemory, TablesOfPagesInUseAreLeft) {
  const auto old = begin(SnapshotUse::reads);
  ASSERT_EQ(read(old, 0), std::string(200, 'v'));
  {
    const auto writer = begin();
    for (int i = 0; i < kRecords; i += 8) {
      ASSERT_TRUE(is_done(writer->update(*tree_, key_of(i), "new")));
    }
    writer->commit();
  }
  const buffer::FrameTable& frames = database_->pool().frames();
  std::vector<buffer::Frame*> with_table;
  for (std::uint32_t i = 0; i < frames.count(); ++i) {
    buffer::Frame& frame = frames[FrameIndex{i}];
    if (frame.attached.load() != nullptr) {
      with_table.push_back(&frame);
    }
  }
  ASSERT_GE(with_table.size(), 50U);
  old->commit();
  const EveryThird held(with_table);
  database_->transactions().collect_versions();
  database_->transactions().prune_tables([] { return false; });
  for (std::size_t i = 0; i < with_table.size(); ++i) {
    EXPECT_EQ(with_table[i]->attached.load() != nullptr, i % 3 == 0) << i;
  }
  held.release();
  database_->transactions().prune_tables([] { return false; });
  EXPECT_EQ(database_->entries().tables(), 0U);
}

}  // namespace
}  // namespace palimpsest::engine::test
