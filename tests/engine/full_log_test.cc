// Full logs. Recovery: no space is freed before recovery has ended; the space for undoing the
// losers was reserved before the crash, but padding may have used it since. And a log that cannot
// grow to its bound because the disk is full: which transaction gets which error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sync_point.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::CrashKeeps;
using palimpsest::test::error_of;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;

constexpr int kRecords = 1500;
constexpr int kLosers = 3;
constexpr int kChangesOfLoser = 40;
constexpr std::uint64_t kSegments = 6;
constexpr int kLargeChanges = 300;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

EngineOptions options_of_small_log() {
  EngineOptions options = small_options();
  options.log_bytes_max = kSegments * wal::kSegmentBytesMin;
  options.transactions.asynchronous_interval = std::chrono::seconds(60);
  return options;
}

class FullLog : public ::testing::Test {
 public:
  ~FullLog() override {
    if (writer_.joinable()) {
      writer_.join();
    }
  }

 protected:
  FullLog() : device_(disk_.device()) {
    open();
    for (int i = 0; i < kRecords;) {
      const auto transaction = database_->begin();
      for (const int end = i + 100; i < end; ++i) {
        EXPECT_FALSE(transaction->insert(*tree_, key_of(i), std::string(100, 'v')).existed);
      }
      transaction->commit();
      database_->checkpointer().run();
    }
    before_ = content_of(*tree_);
  }

  void open() {
    database_ = Engine::open(*device_, *device_, options_of_small_log());
    tree_ = database_->find_tree("records");
    tree_ = tree_ != nullptr ? tree_ : database_->make_tree("records");
  }
  /// Transactions that have each set some untouched records to this value.
  [[nodiscard]] std::vector<txn::TransactionPtr> changed(int count, int changes,
                                                         const std::string& value) {
    std::vector<txn::TransactionPtr> open;
    for (int i = 0; i < count; ++i) {
      open.push_back(database_->begin());
      for (int n = 0; n < changes; ++n) {
        EXPECT_TRUE(open.back()->update(*tree_, key_of(untouched_++), value).existed);
      }
    }
    return open;
  }
  /// A transaction in a thread of its own changes the other records until it waits for space.
  void fill() {
    writer_ = std::thread([this] {
      const auto transaction = database_->begin();
      const auto code = error_of([&] {
        for (int i = untouched_;; i = i + 1 < kRecords ? i + 1 : untouched_) {
          EXPECT_TRUE(transaction->upsert(*tree_, key_of(i), fmt::format("{:080}", i)).existed);
        }
      });
      EXPECT_EQ(code, ErrorCode::failed);
    });
    ASSERT_TRUE(palimpsest::test::eventually([&] { return database_->log().is_waited_for(); }));
  }
  /// The power fails; transactions that have begun meanwhile must have ended.
  void crash(std::vector<txn::TransactionPtr>& open) {
    database_->log().write_pending();
    const SimDisk crashed = disk_.crash(1, CrashKeeps::nothing);
    database_->log().fail("the power has failed");
    writer_.join();
    open.clear();
    database_.reset();
    disk_ = crashed;
    device_ = disk_.device();
  }
  void expect_recovered() {
    EXPECT_EQ(database_->recovery().losers, kLosers + 1U);
    EXPECT_EQ(content_of(*tree_), before_);
    EXPECT_TRUE(sound(*database_));
    const auto transaction = database_->begin();
    EXPECT_TRUE(transaction->update(*tree_, key_of(0), "there is space again").existed);
    transaction->commit();
  }
  [[nodiscard]] std::uint64_t segments() const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        device_->list(), [](const std::string& name) { return name.starts_with("log-0"); }));
  }

  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
  btree::BTree* tree_ = nullptr;
  std::thread writer_;
  Content before_;
  int untouched_ = 0;
};

TEST_F(FullLog, LosersAreUndone) {
  auto losers = changed(kLosers, kChangesOfLoser, std::string(100, 'n'));
  fill();
  EXPECT_EQ(segments(), kSegments);
  crash(losers);
  open();
  expect_recovered();
}

#ifdef PALIMPSEST_SYNC_POINTS

// On a loaded machine a thread may not run for several cycles after it is woken; it does not block
// itself.
TEST_F(FullLog, ATransactionWithNewSpaceIsNotCancelledBeforeItRuns) {
  std::atomic<bool> woken = false;
  std::atomic<bool> may_go_on = false;
  const SyncHook hook("wal.space.woken", [&] {
    woken.store(true);
    woken.notify_all();
    may_go_on.wait(false);
  });
  writer_ = std::thread([&] {
    while (!woken.load()) {
      const auto transaction = database_->begin();
      for (int i = 0; i < kChangesOfLoser; ++i) {
        EXPECT_TRUE(transaction->update(*tree_, key_of(i), std::string(900, 'n')).existed);
      }
      transaction->commit();
    }
  });
  woken.wait(false);
  EXPECT_NE(database_->transactions().oldest(), txn::DeferredFrees::kNone);
  EXPECT_TRUE(database_->log().is_waited_for());
  database_->checkpointer().run();
  EXPECT_FALSE(database_->log().is_waited_for());
  database_->checkpointer().run();
  EXPECT_EQ(database_->checkpointer().statistics().cancelled, 0U);
  may_go_on.store(true);
  may_go_on.notify_all();
  writer_.join();
}

// A refused commit returns the log space reserved for freeing its pages: otherwise refused commits
// would use up the log.
TEST_F(FullLog, WhatIsRefusedTakesNothingOfIt) {
  const std::string large(10'000, 'l');
  const auto update = [&](txn::Isolation isolation, int number, const std::string& value) {
    const auto transaction = database_->begin(txn::Durability::synchronous, isolation);
    EXPECT_TRUE(transaction->update(*tree_, key_of(number), value).existed);
    transaction->commit();
  };
  update(txn::Isolation::snapshot, 0, large);
  bool is_other = true;
  const SyncHook hook("txn.commit.begun", [&] {
    if (!std::exchange(is_other, true)) {
      update(txn::Isolation::snapshot, 1, "other");
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const auto refused =
        database_->begin(txn::Durability::synchronous, txn::Isolation::serializable);
    std::string read;
    ASSERT_TRUE(txn::lookup(*refused, *tree_, key_of(1), read));
    ASSERT_TRUE(refused->update(*tree_, key_of(0), "short").existed);
    is_other = false;
    ASSERT_EQ(error_of([&] { refused->commit(); }), ErrorCode::not_serializable) << i;
    database_->checkpointer().step();
  }
  EXPECT_TRUE(sound(*database_));
}

constexpr int kRolledBack = 8;
constexpr int kChangesOfRolledBack = 80;

// Each compensation of a rollback is written in a batch of its own, which is mostly padding: that
// uses up the reservations of the other losers, and the margin as well.
TEST_F(FullLog, LosersAreUndoneWithMoreLogThanThereMayBe) {
  auto open_ones = changed(kLosers, kChangesOfLoser, std::string(100, 'n'));
  std::string value(100, 'v');
  value.back() = 'n';
  auto rolled_back = changed(kRolledBack, kChangesOfRolledBack, value);
  fill();
  {
    const SyncHook hook("txn.undo.done", [&] { database_->log().write_pending(); });
    for (auto& transaction : rolled_back) {
      transaction.reset();
    }
    EXPECT_EQ(hook.hits(), static_cast<unsigned>(kRolledBack * kChangesOfRolledBack));
  }
  EXPECT_GT(segments(), kSegments);
  crash(open_ones);
  open();
  expect_recovered();
}

#endif

// A log that cannot grow is filled by changes of other transactions since this one began, or by one
// transaction alone.
class FullDisk : public FullLog {
 protected:
  FullDisk() {
    database_->close();
    database_.reset();
    disk_.inject({.error = ENOSPC, .kinds = unsigned(SimKind::create), .for_good = true});
    EngineOptions options = options_of_small_log();
    options.log_bytes_max = kBound;
    options.background_threads = true;
    database_ = Engine::open(*device_, *device_, options);
    tree_ = database_->find_tree("records");
    files_ = segments();
    EXPECT_LT(files_ * wal::kSegmentBytesMin, kBound / 2);
  }
  void update(txn::Transaction& by, int number, int value) {
    EXPECT_TRUE(by.update(*tree_, key_of(number), fmt::format("{:0100}", value)).existed);
  }
  /// Changes so many records, in small transactions: none of them holds the log back.
  void update_one_by_one(int count) {
    for (int i = 0; i < count; ++i) {
      const auto transaction = database_->begin();
      update(*transaction, 100 + i % 1000, i);
      transaction->commit();
    }
  }
  /// The error when the transaction changes all records again and again.
  std::optional<ErrorCode> told(txn::Transaction& by, std::string* message = nullptr) {
    return error_of(
        [&] {
          for (int i = 0;; ++i) {
            update(by, i % kRecords, i);
          }
        },
        message);
  }

  static constexpr std::uint64_t kBound = 64 * wal::kSegmentBytesMin;
  std::uint64_t files_ = 0;
};

TEST_F(FullDisk, ATransactionThatNeedsMoreLogThanThereIsGetsNoSpace) {
  const auto large = database_->begin();
  std::string message;
  EXPECT_EQ(told(*large, &message), ErrorCode::no_space) << message;
  EXPECT_NE(message.find(fmt::format("{} has {} bytes of at most {}", device_->path(),
                                     files_ * wal::kSegmentBytesMin, kBound)),
            std::string::npos)
      << message;
  EXPECT_EQ(segments(), files_);
  EXPECT_TRUE(large->is_active()) << "it may commit what it has done";
  EXPECT_EQ(told(*large, &message), ErrorCode::no_space) << message;
  large->rollback();
  EXPECT_EQ(content_of(*tree_), before_);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(FullDisk, OnceThereIsRoomAnotherAttemptMayHelp) {
  const auto large = database_->begin();
  EXPECT_EQ(told(*large), ErrorCode::no_space);
  disk_.clear_faults();
  const auto again = database_->begin();
  for (int i = 0; i < kRecords; ++i) {
    if (error_of([&] { update(*large, i, i); }) == ErrorCode::transaction_too_old) {
      break;  // other transactions have waited for it
    }
  }
  large->rollback();
  for (int i = 0; i < 2 * kLargeChanges; ++i) {
    update(*again, i, i);
  }
  again->commit();
  EXPECT_GT(segments(), files_);
}

// A transaction that is cancelled only because it blocks others may be retried: by itself it fits.
TEST_F(FullDisk, ATransactionThatOnlyBlocksTheLogMayTryAgain) {
  const auto old = database_->begin();
  update(*old, 0, 1);
  update_one_by_one(5000);
  EXPECT_FALSE(old->is_active());
  EXPECT_EQ(error_of([&] { update(*old, 1, 1); }), ErrorCode::transaction_too_old);
}

// Other transactions wait while it is idle; a retry would fail in the same way.
TEST_F(FullDisk, ATransactionThatFilledMuchOfItGetsNoSpace) {
  const auto large = database_->begin();
  for (int i = 0; i < kLargeChanges; ++i) {
    update(*large, 1100 + i, i);
  }
  update_one_by_one(5000);
  EXPECT_FALSE(large->is_active());
  EXPECT_EQ(error_of([&] { update(*large, 1, 1); }, "too few for a transaction that needs"),
            ErrorCode::no_space);
  disk_.clear_faults();
  EXPECT_EQ(error_of([&] { update(*large, 1, 1); }), ErrorCode::transaction_too_old);
  EXPECT_GT(segments(), files_);
}

}  // namespace
}  // namespace palimpsest::engine::test
