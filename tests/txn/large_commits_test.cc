// Commits of values in pages of their own: a round of the log makes all their pages durable, with
// one sync, before it makes the commits durable.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "palimpsest/error.h"

#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using palimpsest::test::SimOperation;
using txn::Durability;

class LargeCommits : public ::testing::Test {
 public:
  ~LargeCommits() override { disk_.set_hook({}); }

 protected:
  LargeCommits() {
    open();
    static_cast<void>(database_->make_tree("records"));
    commit("before", 10, Durability::synchronous);
  }
  void open() {
    database_.reset();
    device_ = disk_.device();
    EngineOptions options = small_options();
    options.transactions.asynchronous_interval = std::chrono::seconds(60);
    database_ = Engine::open(*device_, *device_, options);
  }
  void commit(const std::string& key, std::size_t bytes, Durability durability) {
    const auto transaction = database_->begin(durability);
    btree::BTree& tree = *database_->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, key, std::string(bytes, 'v')).existed);
    transaction->commit();
  }
  void count_page_syncs() {
    page_syncs_ = 0;
    disk_.set_hook([this](const SimOperation& operation) {
      page_syncs_ += operation.kind == SimKind::sync && operation.file == "pages" ? 1 : 0;
    });
  }
  /// Loses everything that was not synced.
  void crash() {
    lose_power(disk_, database_);
    open();
  }
  [[nodiscard]] Content content() { return content_of(*database_->find_tree("records")); }

  SimDisk disk_;
  std::atomic<int> page_syncs_{0};
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

// Otherwise each would be a write, and a page of its own.
TEST_F(LargeCommits, SmallOnesAreWrittenByTheRoundTogether) {
  int writes = 0;
  disk_.set_hook([&](const SimOperation& operation) {
    writes += operation.kind == SimKind::write && operation.file == "pages" ? 1 : 0;
  });
  const auto transaction = database_->begin(Durability::synchronous);
  btree::BTree& tree = *database_->find_tree("records");
  for (int i = 0; i < 12; ++i) {
    ASSERT_FALSE(
        transaction->insert(tree, "large" + std::to_string(i), std::string(2'000, 'v')).existed);
  }
  const int writes_before = writes;
  transaction->commit();
  EXPECT_EQ(writes_before, 0);
  EXPECT_GE(writes, 1);
  EXPECT_LE(writes, 2) << "in one transfer, or two";
}

// The thread that writes the log may run a round in the middle, once before it rests.
TEST_F(LargeCommits, ARoundMakesThePagesOfAllDurable) {
  count_page_syncs();
  for (int i = 0; i < 12; ++i) {
    commit("large" + std::to_string(i), 9'000, Durability::asynchronous);
  }
  database_->log().write_pending();
  EXPECT_GE(page_syncs_, 1);
  EXPECT_LE(page_syncs_, 2);
}

TEST_F(LargeCommits, ARoundOfSmallOnesSyncsNoPages) {
  commit("large", 9'000, Durability::synchronous);
  count_page_syncs();
  commit("small", 10, Durability::synchronous);
  EXPECT_EQ(page_syncs_, 0);
}

TEST_F(LargeCommits, WhatIsDurableHasItsPages) {
  commit("first", 9'000, Durability::asynchronous);
  commit("second", 200'000, Durability::synchronous);
  crash();
  const Content found = content();
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("first"), std::string(9'000, 'v'));
  EXPECT_EQ(found.at("second"), std::string(200'000, 'v'));
  EXPECT_TRUE(sound(*database_));
}

// The commit must not be reported as durable, nor be found.
TEST_F(LargeCommits, PagesThatCannotBeMadeDurableFailTheRound) {
  disk_.inject({.kinds = static_cast<unsigned>(SimKind::sync), .file = "pages"});
  {
    const auto transaction = database_->begin();
    btree::BTree& tree = *database_->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, "large", std::string(9'000, 'v')).existed);
    EXPECT_EQ(error_of([&] { transaction->commit(); }), ErrorCode::failed);
  }
  EXPECT_TRUE(database_->log().failed());
  crash();
  EXPECT_EQ(content().size(), 1U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(LargeCommits, OnesThatCannotBeWrittenFailTheRound) {
  {
    const auto transaction = database_->begin();
    btree::BTree& tree = *database_->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, "large", std::string(2'000, 'v')).existed);
    disk_.inject(
        {.kinds = static_cast<unsigned>(SimKind::write), .file = "pages", .for_good = true});
    EXPECT_EQ(error_of([&] { transaction->commit(); }), ErrorCode::failed);
  }
  EXPECT_TRUE(database_->log().failed());
  disk_.clear_faults();
  crash();
  EXPECT_EQ(content().size(), 1U);
  EXPECT_TRUE(sound(*database_));
}

// Their pages are free as soon as the rollback is durable, and may then belong to another value.
TEST_F(LargeCommits, RolledBackOnesAreNotWrittenOverOtherValues) {
  btree::BTree& tree = *database_->find_tree("records");
  Content expected = content();
  for (int i = 0; i < 60; ++i) {
    const std::string key = "large" + std::to_string(i);
    const std::string value(static_cast<std::size_t>(1'500 + 100 * (i % 30)),
                            static_cast<char>('a' + i % 26));
    const auto loser = database_->begin();
    ASSERT_FALSE(loser->insert(tree, key + "-", value + "-").existed);
    loser->rollback();
    if (i % 3 == 0) {
      database_->log().write_pending();
      database_->space().complete_frees();
    }
    const auto winner =
        database_->begin(i % 5 == 0 ? Durability::synchronous : Durability::asynchronous);
    ASSERT_FALSE(winner->insert(tree, key, value).existed);
    winner->commit();
    expected[key] = value;
  }
  EXPECT_EQ(content(), expected);
  database_->log().write_pending();
  crash();
  EXPECT_EQ(content(), expected);
  EXPECT_TRUE(sound(*database_));
}

// As after a contradiction in its space map: syncing it would succeed.
TEST_F(LargeCommits, AFileThatHasFailedTakesNoCommit) {
  {
    const auto transaction = database_->begin();
    btree::BTree& tree = *database_->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, "large", std::string(9'000, 'v')).existed);
    database_->file().fail("a page has two users");
    EXPECT_EQ(error_of([&] { transaction->commit(); }), ErrorCode::failed);
    EXPECT_FALSE(database_->log().failed());
    transaction->rollback();
  }
  EXPECT_EQ(content().size(), 1U);
}

}  // namespace
}  // namespace palimpsest::engine::test
