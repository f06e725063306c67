// What the engine reports, at which level and with which fields: opening, recovery, closing, late
// and failing checkpoints, cancellations and their culprit, failures.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os_thread.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/log_recorder.h"
#include "tests/support/sim_disk.h"
#include "txn/read_scope.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::eventually;
using palimpsest::test::LogRecorder;
using palimpsest::test::RecordedMessage;
using palimpsest::test::SimDisk;
using palimpsest::test::SimKind;
using testing::HasSubstr;

std::string key_of(int number) {
  return fmt::format("key{:06}", number);
}

class EngineReports : public ::testing::Test {
 protected:
  EngineReports() { options_.log = recorder_.function(); }

  void open() {
    database_.reset();
    device_ = disk_.device();
    database_ = Engine::open(*device_, *device_, options_);
  }
  [[nodiscard]] btree::BTree& tree() {
    btree::BTree* const found = database_->find_tree("records");
    return found != nullptr ? *found : *database_->make_tree("records");
  }
  /// Inserts or changes records, in small transactions.
  void put(int first, int last, std::size_t value_bytes = 100) {
    btree::BTree& records = tree();
    for (int begin = first; begin < last; begin += 100) {
      const auto by = database_->begin(txn::Durability::asynchronous);
      for (int i = begin; i < std::min(begin + 100, last); ++i) {
        static_cast<void>(by->upsert(records, key_of(i), std::string(value_bytes, 'v')));
      }
      by->commit();
    }
    database_->log().write_pending();
  }
  void make_checkpoints() {
    while (database_->checkpointer().step()) {
    }
  }
  /// The only message of this kind; one that says nothing if there are more, or none.
  [[nodiscard]] RecordedMessage only(std::string_view component, std::string_view part) const {
    const std::vector<RecordedMessage> found = recorder_.of(component, part);
    EXPECT_EQ(found.size(), 1U) << component << ": " << part;
    return found.size() == 1 ? found.front() : RecordedMessage{};
  }

  LogRecorder recorder_;
  EngineOptions options_ = small_options();
  SimDisk disk_;
  std::unique_ptr<io::Device> device_;
  std::unique_ptr<Engine> database_;
};

// Opening and closing

TEST_F(EngineReports, OpeningSaysWhatWasFound) {
  open();
  RecordedMessage opened = only("database", "is open");
  EXPECT_EQ(opened.level, LogLevel::info);
  EXPECT_EQ(opened.field("found"), "nothing");
  EXPECT_EQ(opened.field("path"), device_->path());
  EXPECT_EQ(opened.field("device"), device_->description());
  EXPECT_EQ(opened.number("page_bytes"), 4096U);
  EXPECT_EQ(opened.number("pages"), database_->file().page_count());
  EXPECT_EQ(opened.number("format"), database_->file().header().format_version);
  EXPECT_EQ(opened.number("memory_bytes"), options_.memory_bytes);
  EXPECT_EQ(opened.number("log_bytes_max"), database_->log_bytes_max());
  EXPECT_TRUE(opened.number("duration_ms"));

  recorder_.clear();
  database_->close();
  const RecordedMessage closed = only("database", "is closed");
  EXPECT_EQ(closed.level, LogLevel::info);
  EXPECT_EQ(closed.field("path"), device_->path());
  EXPECT_TRUE(closed.number("duration_ms"));

  recorder_.clear();
  open();
  opened = only("database", "is open");
  EXPECT_EQ(opened.field("found"), "closed cleanly");
  EXPECT_EQ(recorder_.count("recovery"), 0U);
}

TEST_F(EngineReports, TheDestructorSaysWhyItCouldNotClose) {
  open();
  put(0, 100);
  disk_.inject({.kinds = SimKind::write | SimKind::sync, .file = "pages", .for_good = true});
  database_.reset();
  const RecordedMessage message = only("database", "could not be closed");
  EXPECT_EQ(message.level, LogLevel::error);
  EXPECT_THAT(message.field("cause"), HasSubstr("pages"));
  EXPECT_EQ(recorder_.count("database", "is closed"), 0U);
}

// Recovery

TEST_F(EngineReports, RecoverySaysWhatItReadsAndWhatItUndoes) {
  open();
  put(0, 1000);
  auto loser = database_->begin();
  static_cast<void>(loser->upsert(tree(), key_of(1), "never committed"));
  put(1000, 1100);
  database_->log().write_pending();
  const SimDisk crashed = disk_.crash(1, palimpsest::test::CrashKeeps::nothing);
  disk_.power_off();
  loser.reset();
  database_.reset();
  disk_ = crashed;
  recorder_.clear();
  open();

  const RecordedMessage begun = only("recovery", "was not closed cleanly");
  EXPECT_EQ(begun.level, LogLevel::info);
  EXPECT_LT(begun.number("from_position"), begun.number("to_position"));
  const RecordedMessage undone = only("recovery", "had not ended");
  EXPECT_EQ(undone.level, LogLevel::debug);
  EXPECT_TRUE(undone.number("slot"));
  const RecordedMessage done = only("recovery", "the database is recovered");
  EXPECT_EQ(done.level, LogLevel::info);
  EXPECT_EQ(done.number("losers_undone"), database_->recovery().losers);
  EXPECT_EQ(done.number("losers_undone"), 1U);
  EXPECT_EQ(done.number("log_bytes"), database_->recovery().log_bytes);
  EXPECT_EQ(done.number("changes_applied"), database_->recovery().changes_applied);
  for (const char* const phase : {"analysis_ms", "redo_ms", "undo_ms"}) {
    EXPECT_TRUE(done.number(phase)) << phase;
  }
  EXPECT_EQ(only("database", "is open").field("found"), "not closed cleanly");
  const std::vector<RecordedMessage> all = recorder_.all();
  EXPECT_EQ(all.back().message, "the database is open") << "at last";
}

// Checkpoints

TEST_F(EngineReports, CheckpointsThatLagAreReportedOnce) {
  open();
  put(0, 2000);
  make_checkpoints();
  recorder_.clear();
  const std::uint64_t bound = database_->log().capacity_bytes() / 8 * 3;
  while (database_->log().replay_bytes() <= bound) {
    put(0, 100);
  }
  static_cast<void>(database_->checkpointer().step());
  EXPECT_EQ(recorder_.count("checkpoint", "lag"), 0U) << "a little late is not late";
  while (database_->log().replay_bytes() <= bound + bound / 4) {
    put(0, 100);
  }
  static_cast<void>(database_->checkpointer().step());
  const RecordedMessage late = only("checkpoint", "lag behind the log");
  EXPECT_EQ(late.level, LogLevel::warning);
  EXPECT_GT(late.number("replay_bytes"), late.number("replay_bytes_max"));
  EXPECT_EQ(late.number("replay_bytes_max"), bound);
  EXPECT_EQ(recorder_.count("checkpoint", "caught up"), 0U);

  make_checkpoints();
  database_->checkpointer().run();
  static_cast<void>(database_->checkpointer().step());
  const RecordedMessage again = only("checkpoint", "caught up");
  EXPECT_EQ(again.level, LogLevel::info);
  EXPECT_LT(again.number("replay_bytes"), bound);
  EXPECT_EQ(recorder_.count("checkpoint", "lag behind the log"), 1U);
  const std::vector<RecordedMessage> ended = recorder_.of("checkpoint", "has ended");
  ASSERT_FALSE(ended.empty());
  EXPECT_EQ(ended.back().level, LogLevel::debug);
}

// Pages go to the double-write ring first: until that works, nothing in place is torn, and a later
// attempt may succeed.
TEST_F(EngineReports, CheckpointsThatFailAreReportedAndThatTheyWorkAgain) {
  options_.background_threads = true;
  options_.background_sweeps = false;
  options_.replay_bytes_max = 2 * wal::kSegmentBytesMin;
  open();
  put(0, 500);
  database_->checkpointer().run();
  disk_.inject(
      {.error = ENOSPC, .kinds = unsigned(SimKind::write), .file = "pages", .for_good = true});
  const auto has_failed = [&] { return recorder_.count("checkpoint", "a checkpoint failed") != 0; };
  ASSERT_TRUE(eventually([&] {
    if (database_->log().replay_bytes() < database_->log().capacity_bytes() * 2 / 3) {
      put(0, 50);
    }
    return has_failed();
  }));
  disk_.clear_faults();
  ASSERT_TRUE(eventually([&] { return recorder_.count("checkpoint", "work again") != 0; }));
  const RecordedMessage failed = only("checkpoint", "a checkpoint failed");
  EXPECT_EQ(failed.level, LogLevel::warning);
  EXPECT_THAT(failed.field("cause"), HasSubstr("pages"));
  EXPECT_EQ(only("checkpoint", "work again").level, LogLevel::info);
  EXPECT_FALSE(database_->log().failed());
}

// Cancellations

TEST_F(EngineReports, ATransactionThatHoldsTheLogBackIsNamed) {
  open();
  put(0, 100);
  make_checkpoints();
  auto old = database_->begin();
  ASSERT_TRUE(old->update(tree(), key_of(3), "old").existed);
  for (int round = 1; old->is_active(); ++round) {
    ASSERT_LT(round, 1000);
    put(round * 100, round * 100 + 100, 200);
    make_checkpoints();
  }
  const RecordedMessage message = only("transaction", "a transaction was cancelled");
  EXPECT_EQ(message.level, LogLevel::warning);
  EXPECT_EQ(message.number("slot"), raw(old->slot()));
  EXPECT_EQ(message.number("thread"), os_thread());
  EXPECT_TRUE(message.number("age_ms"));
  EXPECT_THAT(message.field("cause"), HasSubstr("log"));
  EXPECT_EQ(error_of([&] { return old->update(tree(), key_of(4), "x").existed; }),
            ErrorCode::transaction_too_old);
}

// Its owner is in a call, so that it cannot be rolled back: it is asked by each step, and reported
// once. A later transaction of the slot is another one.
TEST_F(EngineReports, ATransactionIsNamedOnce) {
  open();
  put(0, 100);
  make_checkpoints();
  for (std::size_t times = 1; times <= 2; ++times) {
    auto old = database_->begin();
    ASSERT_TRUE(old->update(tree(), key_of(3), "old").existed);
    const Gsn oldest = database_->transactions().oldest();
    old->hold([&] {
      for (int asked = 0; asked < 3; ++asked) {
        EXPECT_EQ(database_->transactions().cancel_older_than(oldest), 1U);
      }
    });
    EXPECT_EQ(recorder_.count("transaction", "a transaction was cancelled"), times);
    old->rollback();
  }
}

TEST_F(EngineReports, AReaderWhoseSnapshotIsCancelledIsNamed) {
  options_.version_bytes_max = std::uint64_t{1} << 20U;
  options_.memory_bytes = std::uint64_t{16} << 20U;
  options_.log_bytes_max = 64 * wal::kSegmentBytesMin;
  open();
  put(0, 2000, 200);
  database_->checkpointer().run();
  const auto reader = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
  std::string value;
  ASSERT_TRUE(txn::lookup(*reader, tree(), key_of(3), value));
  for (int round = 0; recorder_.count("transaction") == 0; ++round) {
    ASSERT_LT(round, 100);
    for (int i = 0; i < 2000; ++i) {
      const auto by = database_->begin(txn::Durability::asynchronous, txn::Isolation::snapshot);
      ASSERT_FALSE(by->upsert(tree(), fmt::format("{}{:06}", round, i), "x").conflict);
      by->commit();
    }
    database_->checkpointer().run();
  }
  const RecordedMessage message = recorder_.of("transaction").front();
  EXPECT_THAT(message.message, HasSubstr("snapshot_too_old"));
  EXPECT_EQ(message.level, LogLevel::warning);
  EXPECT_EQ(message.number("slot"), raw(reader->slot()));
  EXPECT_EQ(message.number("thread"), os_thread());
  EXPECT_THAT(message.field("cause"), HasSubstr("memory for versions"));
  EXPECT_EQ(message.number("version_bytes_max"), options_.version_bytes_max);
  EXPECT_EQ(error_of([&] { static_cast<void>(txn::lookup(*reader, tree(), key_of(3), value)); }),
            ErrorCode::snapshot_too_old);
  EXPECT_EQ(recorder_.count("transaction"), database_->transactions().version_memory().cancelled());
}

// Failures

TEST_F(EngineReports, ALogThatFailsSaysWhyOnce) {
  open();
  put(0, 100);
  disk_.inject({.kinds = unsigned(SimKind::sync), .for_good = true});
  const auto by = database_->begin();
  static_cast<void>(by->upsert(tree(), key_of(1), "not durable"));
  EXPECT_EQ(error_of([&] { return by->commit(), 0; }), ErrorCode::failed);
  database_->log().fail("a later reason");
  const RecordedMessage message = only("log", "the log has failed");
  EXPECT_EQ(message.level, LogLevel::error);
  EXPECT_THAT(message.field("cause"), HasSubstr("sync"));
}

TEST_F(EngineReports, APageFileThatFailsSaysWhyOnce) {
  open();
  put(0, 100);
  disk_.inject({.kinds = unsigned(SimKind::sync), .file = "pages", .for_good = true});
  EXPECT_TRUE(error_of([&] { return database_->checkpointer().run(), 0; }));
  EXPECT_EQ(error_of([&] { return database_->checkpointer().step(); }), ErrorCode::failed);
  const RecordedMessage message = only("pages", "the page file has failed");
  EXPECT_EQ(message.level, LogLevel::error);
  EXPECT_THAT(message.field("file"), HasSubstr("pages"));
  EXPECT_THAT(message.field("cause"), HasSubstr("sync"));
  EXPECT_EQ(only("log", "the log has failed").level, LogLevel::error) << "it would fill up";
}

}  // namespace
}  // namespace palimpsest::engine::test
