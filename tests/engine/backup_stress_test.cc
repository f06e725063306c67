// Backups while threads write, also values that bypass the log, pages are evicted and checkpoints
// made: each copy has each writer's part as after one of its commits, and no sum is torn.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/backup_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"
#include "tests/support/thread_group.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::Rounds;
using palimpsest::test::run_threads;
using palimpsest::test::SimDisk;

constexpr std::size_t kWriters = 3;
constexpr int kTotal = 1'000;

/// Moves an amount from one record to another; does nothing on a conflict.
void move_some(Engine& database, Random& random) {
  const auto transaction = database.begin(txn::Durability::asynchronous);
  btree::BTree& tree = *database.find_tree("records");
  std::string left;
  std::string right;
  ASSERT_TRUE(txn::lookup(*transaction, tree, "left", left));
  ASSERT_TRUE(txn::lookup(*transaction, tree, "right", right));
  const int some = static_cast<int>(random.below(9)) - 4;
  const bool moved =
      !transaction->update(tree, "left", std::to_string(std::stoi(left) - some)).conflict &&
      !transaction->update(tree, "right", std::to_string(std::stoi(right) + some)).conflict;
  if (moved) {
    transaction->commit();
  } else {
    transaction->rollback();
  }
}

class BackupStress : public ::testing::Test {
 protected:
  BackupStress() : device_(disk_.device()) {
    EngineOptions options = small_options();
    options.background_threads = true;
    options.log_bytes_max = 1024 * wal::kSegmentBytesMin;
    database_ = Engine::open(*device_, *device_, options);
    static_cast<void>(database_->make_tree("records"));
    for (std::size_t i = 0; i < kWriters; ++i) {
      writers_.emplace_back(std::string(1, static_cast<char>('a' + i)),
                            palimpsest::test::seed() + i);
    }
    const auto transaction = database_->begin();
    btree::BTree& tree = *database_->find_tree("records");
    static_cast<void>(transaction->insert(tree, "left", std::to_string(kTotal)));
    static_cast<void>(transaction->insert(tree, "right", "0"));
    transaction->commit();
  }
  /// Fails only if the writers outpace the copy.
  void back_up_once() {
    SimDisk copy;
    const auto into = copy.device();
    const auto code =
        palimpsest::test::error_of([&] { static_cast<void>(database_->back_up(*into, {})); });
    if (code) {
      EXPECT_EQ(code, ErrorCode::no_space);
    } else {
      copies_.push_back(copy);
    }
  }
  void expect_copies() {
    for (const SimDisk& copy : copies_) {
      OpenedCopy opened(copy);
      const Content content = opened.content();
      for (const KnownWriter& writer : writers_) {
        EXPECT_TRUE(writer.explains(content, 0));
      }
      EXPECT_EQ(std::stoi(content.at("left")) + std::stoi(content.at("right")), kTotal);
      EXPECT_TRUE(sound(opened.database()));
    }
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  std::deque<KnownWriter> writers_;
  std::vector<SimDisk> copies_;
};

TEST_F(BackupStress, ManyWrite) {
  std::atomic<bool> ends{false};
  run_threads(kWriters + 2, [&](std::size_t thread) {
    if (thread < kWriters) {
      while (!ends.load()) {
        try_often([&] { writers_[thread].commit_one(*database_); });
      }
    } else if (thread == kWriters) {
      Random random(palimpsest::test::seed());
      while (!ends.load()) {
        try_often([&] { move_some(*database_, random); });
      }
    } else {
      for (Rounds rounds(3, 3.0); rounds.next() || (copies_.empty() && !HasFailure());) {
        back_up_once();
      }
      ends.store(true);
    }
  });
  EXPECT_FALSE(copies_.empty());
  expect_copies();
}

}  // namespace
}  // namespace palimpsest::engine::test
