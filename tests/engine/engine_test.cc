// Databases opened, closed, crashed and opened again.
#include "engine/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "btree/log_change.h"
#include "buffer/page_file.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/crash_images.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashImages;
using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

class DatabaseTest : public ::testing::Test {
 protected:
  void open(const EngineOptions& options = small_options()) {
    database_.reset();
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options);
  }
  /// The power fails, and nothing that was not durable survives.
  void crash(CrashKeeps keeps = CrashKeeps::nothing) { lose_power(disk_, database_, keeps); }
  btree::BTree& tree(const char* name = "records") {
    btree::BTree* tree = database_->find_tree(name);
    return tree != nullptr ? *tree : *database_->make_tree(name);
  }
  void insert(int first, int last, std::size_t value_bytes = 100) {
    btree::BTree& records = tree();
    for (int begin = first; begin < last; begin += 100) {
      auto transaction = database_->begin();
      for (int i = begin; i < std::min(begin + 100, last); ++i) {
        const auto outcome = transaction->insert(records, key_of(i), std::string(value_bytes, 'v'));
        ASSERT_FALSE(outcome.existed || outcome.conflict);
      }
      transaction->commit();
      while (database_->checkpointer().step()) {
      }
    }
  }

  /// Returns the clock's value before the insertion.
  Gsn insert_and_undo(std::uint64_t records) {
    const Gsn before = database_->transactions().now();
    auto undone = database_->begin();
    for (std::uint64_t i = 0; i < records; ++i) {
      EXPECT_FALSE(undone->insert(tree(), key_of(static_cast<int>(i)), "v").existed);
    }
    undone->rollback();
    return before;
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

TEST_F(DatabaseTest, ClosedAndOpenedWithoutRedo) {
  open();
  insert(0, 500);
  database_->close();
  open();
  EXPECT_FALSE(database_->recovery().was_needed);
  EXPECT_EQ(content_of(tree()).size(), 500U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, WhatIsFreeAtTheEndOfTheFileIsCutOffWhenClosed) {
  open();
  insert(0, 500);
  database_->close();
  const std::size_t without = disk_.contents("pages").size();
  open();
  insert(500, 501, 8'000'000);
  const std::size_t with = disk_.contents("pages").size();
  ASSERT_GT(with, without + 7'000'000);
  {
    auto transaction = database_->begin();
    ASSERT_TRUE(transaction->update(tree(), key_of(500), "small").existed);
    transaction->commit();
  }
  const Content before = content_of(tree());
  CrashImages crashes(disk_);
  crashes.take_at_operations();
  database_->close();
  const std::vector<CrashImages::Image> images = crashes.end();
  ASSERT_FALSE(images.empty());
  EXPECT_LE(disk_.contents("pages").size(), without);
  for (const CrashImages::Image& image : images) {
    disk_.power_off();
    database_.reset();
    disk_ = image.disk;
    open();
    ASSERT_EQ(content_of(tree()), before);
    ASSERT_TRUE(sound(*database_));
  }
  database_->close();
  open();
  EXPECT_FALSE(database_->recovery().was_needed);
  EXPECT_EQ(content_of(tree()), before);
  insert(501, 502, 8'000'000);  // the file grows again
  crash();
  open();
  EXPECT_EQ(content_of(tree()).size(), before.size() + 1);
  EXPECT_TRUE(sound(*database_));
}

// The file would grow by as much at the next write.
TEST_F(DatabaseTest, AShortTailIsLeftToTheFile) {
  open();
  insert(0, 500);
  const std::size_t size = disk_.contents("pages").size();
  ASSERT_NE(database_->space().counts().free, 0U);
  database_->close();
  EXPECT_EQ(disk_.contents("pages").size(), size);
}

TEST_F(DatabaseTest, CommittedSurvivesACrash) {
  open();
  insert(0, 2000);
  crash();
  open();
  EXPECT_TRUE(database_->recovery().was_needed);
  EXPECT_EQ(content_of(tree()).size(), 2000U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, UncommittedIsUndoneByRecovery) {
  open();
  insert(0, 300);
  auto transaction = database_->begin();
  for (int i = 0; i < 300; i += 3) {
    ASSERT_TRUE(transaction->remove(tree(), key_of(i)).existed);
    ASSERT_TRUE(transaction->update(tree(), key_of(i + 1), "short").existed);
    ASSERT_FALSE(transaction->insert(tree(), key_of(i) + "x", std::string(50, 'n')).existed);
  }
  database_->log().wait_durable(database_->log().durable_gsn());
  insert(1000, 1010);  // makes the other's records durable, too
  const Content before = content_of(tree());
  EXPECT_EQ(before.at(key_of(1)), "short");
  SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
  transaction.reset();
  disk_ = crashed;
  database_.reset();
  open();
  EXPECT_EQ(database_->recovery().losers, 1U);
  const Content after = content_of(tree());
  EXPECT_EQ(after.size(), 310U);
  EXPECT_EQ(after.at(key_of(1)), std::string(100, 'v'));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, RollbackUndoesEverything) {
  open();
  insert(0, 300);
  const Content before = content_of(tree());
  auto transaction = database_->begin();
  for (int i = 0; i < 300; i += 2) {
    ASSERT_TRUE(transaction->remove(tree(), key_of(i)).existed);
    ASSERT_TRUE(transaction->update(tree(), key_of(i + 1), std::string(300, 'u')).existed);
    ASSERT_FALSE(transaction->upsert(tree(), key_of(i), std::string(20, 'r')).existed);
    ASSERT_FALSE(transaction->insert(tree(), key_of(i) + "x", std::string(50, 'n')).existed);
  }
  transaction->rollback();
  transaction.reset();
  EXPECT_EQ(content_of(tree()), before);
  EXPECT_TRUE(sound(*database_));
  crash();
  open();
  EXPECT_EQ(content_of(tree()), before);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, LargeValuesAreFreedWhenTheirTransactionHasWon) {
  open();
  const std::string large(20'000, 'l');
  insert(0, 10, large.size());
  const auto used = database_->space().counts().allocated;
  {
    auto transaction = database_->begin();
    ASSERT_TRUE(transaction->update(tree(), key_of(1), std::string(30'000, 'm')).existed);
    ASSERT_TRUE(transaction->remove(tree(), key_of(2)).existed);
    transaction->rollback();
  }
  EXPECT_TRUE(sound(*database_));
  {
    auto transaction = database_->begin();
    ASSERT_TRUE(transaction->update(tree(), key_of(1), "small").existed);
    transaction->commit();
  }
  EXPECT_TRUE(sound(*database_));
  insert(100, 101);  // its commit makes the freeing records durable
  database_->space().complete_frees();
  EXPECT_LT(database_->space().counts().allocated, used);
  crash();
  open();
  EXPECT_EQ(content_of(tree()).at(key_of(1)), "small");
  EXPECT_TRUE(sound(*database_));
}

// More of them than the log would hold if each retained any of it.
TEST_F(DatabaseTest, LargeValuesLeaveTheLogAsItWas) {
  EngineOptions options = small_options();
  options.background_threads = true;
  open(options);
  insert(0, 1, 5'000);
  const auto values = static_cast<int>(options.log_bytes_max / 128);
  for (int i = 0; i < values; ++i) {
    auto transaction = database_->begin();
    ASSERT_TRUE(transaction->update(tree(), key_of(0), std::string(5'000, 'm')).existed) << i;
    transaction->commit();
  }
  EXPECT_TRUE(sound(*database_));
}

// Not freed by the rollback, nor by the next transaction of the slot, nor by recovery, whether it
// finds the rollback in the log or undoes the changes itself.
TEST_F(DatabaseTest, LargeValuesStayInUseWhenTheirTransactionHasLost) {
  open();
  insert(0, 10, 20'000);
  const auto give_up = [&](txn::Transaction& transaction) {
    ASSERT_TRUE(transaction.update(tree(), key_of(1), std::string(30'000, 'm')).existed);
    ASSERT_TRUE(transaction.update(tree(), key_of(2), "small").existed);
    ASSERT_TRUE(transaction.remove(tree(), key_of(3)).existed);
  };
  {
    auto transaction = database_->begin();
    give_up(*transaction);
    transaction->rollback();
  }
  {
    auto transaction = database_->begin();
    ASSERT_TRUE(transaction->update(tree(), key_of(4), "small").existed);
    transaction->commit();
  }
  insert(10, 20, 20'000);  // in whatever pages are free by now
  const Content before = content_of(tree());
  EXPECT_EQ(before.at(key_of(3)), std::string(20'000, 'v'));
  EXPECT_TRUE(sound(*database_));
  crash();
  open();
  EXPECT_EQ(content_of(tree()), before);
  EXPECT_TRUE(sound(*database_));

  auto loser = database_->begin();
  give_up(*loser);
  insert(20, 21);  // makes the loser's records durable, too
  const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
  loser.reset();
  database_.reset();
  disk_ = crashed;
  open();
  EXPECT_EQ(database_->recovery().losers, 1U);
  insert(30, 40, 20'000);
  const Content after = content_of(tree());
  for (const auto& [key, value] : before) {
    EXPECT_EQ(after.at(key), value) << key;
  }
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, CheckpointsLetTheLogBeReused) {
  open();
  for (int round = 0; round < 60; ++round) {
    insert(round * 100, round * 100 + 100, 200);
    while (database_->checkpointer().step()) {
    }
  }
  EXPECT_GT(database_->checkpointer().statistics().cycles, 3U);
  EXPECT_LT(database_->log().replay_bytes(), database_->log().capacity_bytes() / 2);
  crash();
  open();
  EXPECT_EQ(content_of(tree()).size(), 6000U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(DatabaseTest, ATransactionThatHoldsTheLogBackIsCancelled) {
  EngineOptions options = small_options();
  options.background_threads = true;
  open(options);
  insert(0, 10);
  auto old = database_->begin();
  ASSERT_TRUE(old->update(tree(), key_of(3), "old").existed);
  for (int round = 1; round < 100; ++round) {
    insert(round * 100, round * 100 + 100, 200);
  }
  EXPECT_FALSE(old->is_active());
  EXPECT_EQ(palimpsest::test::error_of([&] { return database_->close(), 0; },
                                       "transactions or cursors are open"),
            ErrorCode::invalid_argument)
      << "its owner does not know yet";
  EXPECT_EQ(palimpsest::test::error_of([&] { return old->update(tree(), key_of(4), "x").existed; }),
            ErrorCode::transaction_too_old);
  old.reset();
  EXPECT_EQ(content_of(tree()).at(key_of(3)), std::string(100, 'v'));
}

// Opening depends on the files that exist: two at once would each make, or remove, the other's.
TEST_F(DatabaseTest, OneAtATimeOpensADirectory) {
  const auto opens = [&] {
    const std::unique_ptr<io::Device> device = disk_.device();
    return error_of([&] { return Engine::open(*device, *device, small_options()); });
  };
  int tries = 0;
  bool is_trying = false;
  disk_.set_hook([&](const palimpsest::test::SimOperation& operation) {
    if (!std::exchange(is_trying, true)) {
      EXPECT_EQ(opens(), ErrorCode::locked) << "operation " << operation.number;
      ++tries;
      is_trying = false;
    }
  });
  open();
  disk_.set_hook({});
  EXPECT_GE(tries, 20);
  EXPECT_EQ(opens(), ErrorCode::locked);
  insert(0, 10);
  database_.reset();
  EXPECT_EQ(opens(), std::nullopt);
}

// Wherever the disk is full, the message says what failed, and names a file.
TEST_F(DatabaseTest, OneThatCannotBeCreatedSaysSo) {
  constexpr std::uint64_t kStep = std::uint64_t{64} << 10U;
  constexpr std::string_view kWhat = "the database cannot be created: ";
  std::string message;
  std::uint64_t capacity_bytes = 0;
  for (; database_ == nullptr; capacity_bytes += kStep) {
    disk_ = SimDisk({.capacity_bytes = capacity_bytes});
    if (const auto code = error_of([&] { return open(), 0; }, &message)) {
      EXPECT_EQ(*code, ErrorCode::no_space) << message;
      EXPECT_TRUE(message.starts_with(kWhat) && message.find("\"sim/") != std::string::npos)
          << message;
    }
  }
  EXPECT_GT(capacity_bytes, wal::LogStore::kSegmentsMin * wal::kSegmentBytesMin);
  database_.reset();
  disk_.inject({.kinds = unsigned(palimpsest::test::SimKind::sync)});
  EXPECT_EQ(error_of([&] { return open(), 0; }, &message), ErrorCode::io_error);
  EXPECT_FALSE(message.starts_with(kWhat)) << "it is there: " << message;
}

// Opening removes the log files of a database whose creation was interrupted.
TEST_F(DatabaseTest, AnUnfinishedDatabaseLeavesAnothersLogAlone) {
  open();
  insert(0, 100);
  database_.reset();
  SimDisk other;
  const std::unique_ptr<io::Device> device = other.device();
  buffer::PageFile::create(*device, buffer::kPageFileName, small_options().pages).reset();
  EXPECT_EQ(error_of([&] { return Engine::open(*device, *device_, small_options()); },
                     "belongs to another database"),
            ErrorCode::corruption);
  open();
  EXPECT_EQ(content_of(tree()).size(), 100U);
}

// After a crash during that removal, the next opening can still tell that the log is its own.
TEST_F(DatabaseTest, AnUnfinishedDatabaseKnowsItsLogUntilAllOfItHasGone) {
  SimDisk disk;
  const std::unique_ptr<io::Device> device = disk.device();
  const Uuid uuid = buffer::PageFile::create(*device, buffer::kPageFileName, small_options().pages)
                        ->header()
                        .uuid;
  static_cast<void>(wal::LogStore::create(
      *device, uuid, {.segment_bytes = wal::kSegmentBytesMin, .segments_max = 5}));
  std::uint32_t removed = 0;
  disk.set_hook([&](const palimpsest::test::SimOperation& operation) {
    if (operation.kind == palimpsest::test::SimKind::remove &&
        operation.file.starts_with("log-0")) {
      ++removed;
      EXPECT_TRUE(disk.device()->exists(wal::kControlFileName)) << operation.file;
    }
  });
  static_cast<void>(Engine::open(*device, *device, small_options()));
  disk.set_hook({});
  EXPECT_EQ(removed, wal::LogStore::kSegmentsMin);
}

// Its id may be that of a tree whose creation was undone by a transaction with which it shares no
// page.
TEST_F(DatabaseTest, MakingATreeCoversWhatWasUndoneBefore) {
  EngineOptions options = small_options();
  options.transactions.asynchronous_interval =
      std::chrono::seconds(100);  // a round moves the clock
  open(options);
  constexpr std::uint64_t kRecords = 100;
  static_cast<void>(tree());
  Gsn before{};
  std::vector<txn::TransactionPtr> others;
  const auto end_other_transactions = [&] {
    for (const txn::TransactionPtr& other : others) {
      other->rollback();
    }
    others.clear();
  };
  const auto insert_undo_and_begin_more = [&] {
    end_other_transactions();
    before = insert_and_undo(kRecords);
    for (int i = 0; i < 8; ++i) {  // one of them in the slot that has undone it
      others.push_back(database_->begin());
    }
    return raw(database_->transactions().now()) < raw(before) + kRecords;
  };
  if (!insert_undo_and_begin_more()) {
    // The thread that writes the log began in the middle. Now it rests for its interval.
    ASSERT_TRUE(insert_undo_and_begin_more());
  }
  {
    const auto root = tree("second").descent().leaf<buffer::SharedPage>(btree::Target{});
    EXPECT_GE(raw(btree::gsn_of(root.page())), raw(before) + 2 * kRecords);
  }
  end_other_transactions();
}

TEST_F(DatabaseTest, AConflictNamesTheKey) {
  open();
  insert(0, 10);
  auto one = database_->begin();
  auto two = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
  ASSERT_TRUE(one->update(tree(), key_of(3), "one").existed);
  const auto outcome = two->update(tree(), key_of(3), "two");
  ASSERT_TRUE(outcome.conflict.has_value());
  EXPECT_EQ(outcome.conflict->key, key_of(3));
  one->commit();
  EXPECT_TRUE(two->update(tree(), key_of(3), "two").existed);
  two->commit();
  EXPECT_EQ(content_of(tree()).at(key_of(3)), "two");
}

}  // namespace
}  // namespace palimpsest::engine::test
