// Commits of values that lie in pages of their own: the round of the log that makes them durable
// makes the pages durable before, once for all that it writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "tests/engine/database_fixture.h"
#include "tests/support/error_of.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
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
    DatabaseOptions options = small_options();
    options.transactions.asynchronous_interval = std::chrono::seconds(60);
    database_ = Database::open(*device_, *device_, options);
  }
  void commit(const std::string& key, std::size_t bytes, Durability durability) {
    const auto transaction = database_->begin(durability);
    btree::BTree& tree = *database_->find_tree("records");
    ASSERT_FALSE(transaction->insert(tree, key, std::string(bytes, 'v')).existed);
    transaction->commit();
  }
  /// From now on: which files are synced, and where the log is written, in turn.
  void listen() {
    heard_.clear();
    disk_.set_hook([this](const SimOperation& operation) {
      const bool is_log = operation.file.starts_with("log-");
      const std::lock_guard lock(mutex_);
      if (operation.kind == SimKind::sync) {
        heard_.push_back("sync " + std::string(is_log ? "log" : operation.file));
      } else if (operation.kind == SimKind::write && is_log) {
        heard_.emplace_back("write log");
      }
    });
  }
  [[nodiscard]] std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  /// Nothing stays that was not synced.
  void crash() {
    const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
    disk_.power_off();
    database_.reset();
    disk_ = crashed;
    open();
  }
  [[nodiscard]] Content content() { return content_of(*database_->find_tree("records")); }

  SimDisk disk_;
  std::mutex mutex_;
  std::vector<std::string> heard_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Database> database_;
};

// The thread that writes the log may run a round in the middle, once before it rests.
TEST_F(LargeCommits, ARoundMakesThePagesOfAllDurableBeforeItWrites) {
  listen();
  for (int i = 0; i < 12; ++i) {
    commit("large" + std::to_string(i), 9'000, Durability::asynchronous);
  }
  database_->log().write_pending();
  const std::vector<std::string> events = heard();
  const auto syncs = std::ranges::count(events, "sync pages");
  EXPECT_GE(syncs, 1);
  EXPECT_LE(syncs, 2);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i] == "sync pages") {
      ASSERT_LT(i + 1, events.size());
      EXPECT_EQ(events[i + 1], "write log");
    }
  }
}

TEST_F(LargeCommits, ARoundOfSmallOnesSyncsNoPages) {
  commit("large", 9'000, Durability::synchronous);
  listen();
  commit("small", 10, Durability::synchronous);
  EXPECT_EQ(std::ranges::count(heard(), "sync pages"), 0);
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

// It must not be said to be durable, nor be found.
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

// As when its map was wrong: syncing it would succeed.
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
