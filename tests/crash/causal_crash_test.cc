// The two cases that break designs with a log for each worker (I-4 in docs/invariants.md), one
// after the other: a page that has changes of two logs, and a commit that depends on another one.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/crash/history.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/sim_disk.h"
#include "txn/read_scope.h"

namespace palimpsest::crash {
namespace {

using test::CrashKeeps;
using test::SimDisk;
using test::SimOperation;
using txn::Durability;

constexpr std::uint64_t kDamages = 12;

class CausalCrash : public ::testing::Test {
 public:
  ~CausalCrash() override {
    disk_.set_hook({});
    disk_.power_off();
  }

 protected:
  CausalCrash() : device_(disk_.device()) {
    engine::EngineOptions options = engine::test::small_options();
    options.transactions.asynchronous_interval = std::chrono::seconds(60);
    database_ = engine::Engine::open(*device_, *device_, options);
    tree_ = database_->make_tree("records");
    const auto transaction = database_->begin();
    for (const char* key : {"a", "b", "c"}) {
      EXPECT_FALSE(transaction->insert(*tree_, key, "old").existed);
    }
    transaction->commit();
  }

  [[nodiscard]] txn::TransactionPtr changed(const char* key,
                                            Durability durability = Durability::synchronous) {
    auto transaction = database_->begin(durability);
    EXPECT_TRUE(transaction->update(*tree_, key, "new").existed);
    return transaction;
  }
  /// A checkpoint that begins when all appended records are in the stream, and ends after the call.
  template <class Call>
  void checkpoint_around(Call&& call) {
    database_->log().write_pending();
    database_->checkpointer().log_is_filling();
    const auto cycles = [&] { return database_->checkpointer().statistics().cycles; };
    const std::uint64_t before = cycles();
    ASSERT_TRUE(database_->checkpointer().step());
    ASSERT_TRUE(database_->checkpointer().step());  // its pages
    ASSERT_EQ(cycles(), before);
    call();
    ASSERT_TRUE(database_->checkpointer().step());
    ASSERT_EQ(cycles(), before + 1);
  }
  /// The content after a power failure at this moment.
  [[nodiscard]] static Content recovered(const SimDisk& at, std::uint64_t damage) {
    const SimDisk crashed = at.crash(damage, damage == 0   ? CrashKeeps::nothing
                                             : damage == 1 ? CrashKeeps::everything
                                                           : CrashKeeps::random);
    const auto device = crashed.device();
    const auto database = engine::Engine::open(*device, *device, engine::test::small_options());
    EXPECT_TRUE(engine::test::sound(*database));
    return state_of(*database).at("records");
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<engine::Engine> database_;
  btree::BTree* tree_ = nullptr;
};

// Redo of the later change of the page needs the earlier one, whose durability was not requested.
TEST_F(CausalCrash, AnEarlierChangeOfThePageIsDurableWithTheLaterOne) {
  const auto first = changed("a");
  const auto second = changed("b");
  ASSERT_NE(first->slot(), second->slot());
  second->commit();
  for (std::uint64_t damage = 0; damage < kDamages; ++damage) {
    EXPECT_EQ(recovered(disk_, damage), (Content{{"a", "old"}, {"b", "new"}, {"c", "old"}}));
  }
}

// The same when the page has been written with both changes.
TEST_F(CausalCrash, AnEarlierChangeOnTheWrittenPageIsUndone) {
  const auto first = changed("a");
  const auto second = changed("b");
  database_->log().write_pending();  // the changes lie before the checkpoint's mark
  database_->checkpointer().run();
  second->commit();
  for (std::uint64_t damage = 0; damage < kDamages; ++damage) {
    EXPECT_EQ(recovered(disk_, damage), (Content{{"a", "old"}, {"b", "new"}, {"c", "old"}}));
  }
}

// The first transaction's commit record need not be durable when commit() returns; the second one
// overwrites its change. Wherever the power fails, the second one survives only with the first.
TEST_F(CausalCrash, AnOverwriteIsNotDurableBeforeTheCommitItOverwrites) {
  std::vector<SimDisk> moments;
  std::mutex mutex;
  disk_.set_hook([&](const SimOperation&) {
    SimDisk moment = disk_.snapshot();
    const std::lock_guard lock(mutex);
    moments.push_back(std::move(moment));
  });
  changed("a", Durability::asynchronous)->commit();
  const auto second = database_->begin();
  ASSERT_TRUE(second->update(*tree_, "b", "new").existed);
  ASSERT_TRUE(second->update(*tree_, "a", "newer").existed);
  second->commit();
  disk_.set_hook({});
  ASSERT_GE(moments.size(), 2U);
  for (const SimDisk& moment : moments) {
    for (std::uint64_t damage = 0; damage < kDamages; ++damage) {
      const Content content = recovered(moment, damage);
      EXPECT_TRUE(content.at("b") == "new" ? content.at("a") == "newer"
                                           : content.at("a") != "newer");
    }
  }
  EXPECT_EQ(recovered(disk_, 0), (Content{{"a", "newer"}, {"b", "new"}, {"c", "old"}}));
}

// A checkpoint has written the page with a change, and its transaction ends before the checkpoint
// does. The records that undo the change lie behind the new start of replay, the change before it.
TEST_F(CausalCrash, ReplayDoesNotStartBehindAnEndThatIsNotDurable) {
  const auto transaction = changed("a");
  checkpoint_around([&] { transaction->rollback(); });
  for (std::uint64_t damage = 0; damage < kDamages; ++damage) {
    EXPECT_EQ(recovered(disk_, damage), (Content{{"a", "old"}, {"b", "old"}, {"c", "old"}}));
  }
}

// The same with an asynchronous commit that frees the pages of a large value: recovery frees them
// if it reads the change that frees them.
TEST_F(CausalCrash, ReplayDoesNotStartBehindPagesThatAreStillToBeFreed) {
  {
    const auto transaction = database_->begin();
    ASSERT_FALSE(transaction->insert(*tree_, "large", std::string(20'000, 'l')).existed);
    transaction->commit();
  }
  const auto transaction = changed("large", Durability::asynchronous);
  checkpoint_around([&] { transaction->commit(); });
  for (std::uint64_t damage = 0; damage < kDamages; ++damage) {
    EXPECT_EQ(recovered(disk_, damage),
              (Content{{"a", "old"}, {"b", "old"}, {"c", "old"}, {"large", "new"}}));
  }
}

TEST_F(CausalCrash, WhatASynchronousReaderHasSeenIsDurable) {
  for (const std::string value : {"new", "newer", "newest"}) {
    {
      const auto first = database_->begin(Durability::asynchronous);
      ASSERT_TRUE(first->update(*tree_, "a", value).existed);
      first->commit();
    }
    const auto reader = database_->begin();
    std::string seen;
    ASSERT_TRUE(txn::lookup(*reader, *tree_, "a", seen));
    ASSERT_EQ(seen, value);
    reader->commit();
    EXPECT_EQ(recovered(disk_, 0).at("a"), value);
  }
}

}  // namespace
}  // namespace palimpsest::crash
