// Bulks of tables that have rows: the result for readers, for later writers, for the next bulk, and
// after a crash and opening.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "btree/leaf_walk.h"
#include "tests/bulk/bulk_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using txn::Isolation;

class BulkRowsTest : public BulkRows {
 protected:
  /// Rows [0, count) named after their ids, which survive a crash.
  void fill(int count) {
    const auto by = database_->begin(txn::Durability::synchronous, Isolation::read_committed);
    for (int id = 0; id < count; ++id) {
      ASSERT_TRUE(insert(*by, id, 0));
    }
    by->commit();
  }
  [[nodiscard]] std::string name_at(txn::Transaction* by, int id) {
    const auto row = row_of(by, id);
    return row ? row->name : "none";
  }
};

TEST_F(BulkRowsTest, CountForSnapshotsFromTheCommitOn) {
  fill(20);
  const auto before = begin();
  const Rows old = rows_of(before.get());
  InBulk bulk(*database_);
  ASSERT_TRUE(insert(bulk, 100, 1));
  ASSERT_TRUE(update(bulk, 3, 1));
  ASSERT_TRUE(erase(bulk, 4));
  const auto during = begin();
  EXPECT_EQ(rows_of(during.get()), old);
  EXPECT_EQ(rows_of(nullptr), old) << "nothing of a bulk that runs is newest";
  Rows changed = old;
  changed[100] = {name_of(100, 1), "body"};
  changed[3] = {name_of(3, 1), "body"};
  changed.erase(4);
  EXPECT_EQ(rows_of(bulk.in.get()), changed) << "its own";
  bulk.commit();
  for (txn::Transaction* const reader : {before.get(), during.get()}) {
    EXPECT_EQ(rows_of(reader), old);
    EXPECT_EQ(id_of(reader, name_of(100, 1)), std::nullopt);
    EXPECT_EQ(id_of(reader, name_of(3, 1)), std::nullopt);
    EXPECT_EQ(id_of(reader, name_of(3, 0)), 3);
    EXPECT_EQ(id_of(reader, name_of(4, 0)), 4);
  }
  const auto after = begin();
  EXPECT_EQ(rows_of(after.get()), changed);
  EXPECT_EQ(rows_of(nullptr), changed);
  EXPECT_EQ(id_of(after.get(), name_of(3, 1)), 3);
  EXPECT_EQ(id_of(after.get(), name_of(3, 0)), std::nullopt);
}

TEST_F(BulkRowsTest, AnAbortedBulkHasNeverBeen) {
  fill(50);
  const Rows old = rows_of(nullptr);
  for (const bool swept : {false, true}) {
    InBulk bulk(*database_);
    for (int id = 0; id < 50; id += 2) {
      ASSERT_TRUE(id % 4 == 0 ? update(bulk, id, 1) : erase(bulk, id));
      ASSERT_TRUE(insert(bulk, 100 + id, 1));
    }
    bulk.in->rollback();
    EXPECT_EQ(rows_of(nullptr), old) << "not swept";
    if (swept) {
      sweep();
      EXPECT_TRUE(database_->bulk_epochs().is_empty());
    }
    EXPECT_EQ(rows_of(nullptr), old);
    EXPECT_TRUE(sound(*database_));
  }
}

TEST_F(BulkRowsTest, WritersGoOnAtItsCommitAndOlderSnapshotsStaySo) {
  fill(20);
  const auto before = begin();
  const Rows old = rows_of(before.get());
  {
    InBulk bulk(*database_);
    ASSERT_TRUE(update(bulk, 3, 1));
    ASSERT_TRUE(erase(bulk, 4));
    ASSERT_TRUE(insert(bulk, 100, 1));
    const auto late = begin();
    EXPECT_TRUE(update(*late, 5, 9).is_conflict()) << "the bulk has the table";
    bulk.commit();
  }
  const auto between = begin();
  const Rows bulk_rows = rows_of(between.get());
  const auto writer = begin();
  EXPECT_TRUE(update(*writer, 3, 2));
  EXPECT_TRUE(insert(*writer, 4, 2));
  EXPECT_TRUE(erase(*writer, 100));
  EXPECT_EQ(rows_of(before.get()), old);
  EXPECT_EQ(rows_of(between.get()), bulk_rows);
  writer->commit();
  EXPECT_EQ(rows_of(before.get()), old);
  EXPECT_EQ(rows_of(between.get()), bulk_rows);
  EXPECT_EQ(name_at(nullptr, 3), name_of(3, 2));
  EXPECT_EQ(name_at(nullptr, 4), name_of(4, 2));
  EXPECT_EQ(rows_of(nullptr).count(100), 0U);
}

// A transaction makes a version late and then changes nothing: a reader that began before the bulk
// committed must not take the leaf for stable.
TEST_F(BulkRowsTest, ALateVersionServesSnapshotsThatDoNotSeeTheBulk) {
  make_plain();
  fill(10);
  const auto before = begin();
  for (int id = 5; id < 9; ++id) {  // all that `before` sees is stable, and more
    const auto other = begin();
    ASSERT_TRUE(update(*other, id, 1));
    other->commit();
  }
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 3, 1));
  ASSERT_TRUE(erase(bulk, 4));
  const auto between = begin();
  const Rows rows = rows_of(between.get());
  bulk.commit();
  const auto writer = begin();
  EXPECT_EQ(insert(*writer, 3, 2).kind(), OutcomeKind::exists);
  EXPECT_EQ(update(*writer, 4, 2).kind(), OutcomeKind::absent);
  for (int id = 0; id < 10; ++id) {
    EXPECT_EQ(name_at(between.get(), id), rows.at(id).name);
  }
  EXPECT_EQ(rows_of(between.get()), rows);
  EXPECT_EQ(name_at(writer.get(), 3), name_of(3, 1));
  EXPECT_EQ(name_at(writer.get(), 4), "none");
}

TEST_F(BulkRowsTest, WhatIsUndoneOverItLeavesWhatItHasDone) {
  fill(10);
  const auto before = begin();
  const Rows old = rows_of(before.get());
  {
    InBulk bulk(*database_);
    for (int id = 0; id < 6; ++id) {
      ASSERT_TRUE(id < 3 ? update(bulk, id, 1) : erase(bulk, id));
    }
    bulk.commit();
  }
  const Rows bulk_rows = rows_of(nullptr);
  {
    const auto writer = begin();
    EXPECT_TRUE(update(*writer, 0, 2));
    EXPECT_TRUE(erase(*writer, 1));
    EXPECT_TRUE(insert(*writer, 4, 2));
    writer->rollback();
  }
  EXPECT_EQ(rows_of(nullptr), bulk_rows);
  EXPECT_EQ(rows_of(before.get()), old);
}

TEST_F(BulkRowsTest, FirstUpdaterWins) {
  fill(10);
  const auto older = begin();
  ASSERT_EQ(rows_of(older.get()).size(), 10U);
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 3, 1));
  ASSERT_TRUE(erase(bulk, 4));
  ASSERT_TRUE(insert(bulk, 100, 1));
  bulk.commit();
  EXPECT_TRUE(update(*older, 3, 2).is_conflict());
  EXPECT_TRUE(insert(*older, 4, 2).is_conflict());
  EXPECT_TRUE(erase(*older, 4).is_conflict());
  EXPECT_TRUE(insert(*older, 100, 2).is_conflict());
  EXPECT_TRUE(update(*older, 5, 2)) << "the bulk has not changed it";
  older->commit();
}

TEST_F(BulkRowsTest, ABulkThatDoesNotSeeACommittedChangeConflicts) {
  fill(3);
  InBulk bulk(*database_);
  const auto other = begin();
  ASSERT_TRUE(update(*other, 1, 5));
  other->commit();
  EXPECT_TRUE(update(bulk, 2, 1).is_conflict());
}

TEST_F(BulkRowsTest, TheNextOneWaitsUntilAllSeeIt) {
  fill(10);
  auto before = begin();
  ASSERT_EQ(rows_of(before.get()).size(), 10U);
  {
    InBulk bulk(*database_);
    ASSERT_TRUE(update(bulk, 3, 1));
    bulk.commit();
  }
  {
    InBulk next(*database_);
    std::string message;
    EXPECT_EQ(error_of([&] { return update(next, 3, 2); }, &message), ErrorCode::gate_timeout);
    EXPECT_NE(message.find("table \"people\""), std::string::npos) << message;
    const auto writer = begin();
    EXPECT_TRUE(update(*writer, 3, 4)) << "it has let go of the table";
    writer->commit();
  }
  before.reset();
  InBulk next(*database_);
  EXPECT_TRUE(update(next, 3, 2));
  next.commit();
  EXPECT_EQ(name_at(nullptr, 3), name_of(3, 2));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkRowsTest, TakesNoMemoryForVersionsAndHoldsBackNoLog) {
  fill(500);
  const Rows old = rows_of(nullptr);
  const auto reader = begin();
  ASSERT_EQ(rows_of(reader.get()), old);
  const std::uint64_t begun = database_->log().end_position();
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 0, 1));
  const std::uint64_t versions = database_->transactions().version_bytes();
  for (int round = 1; database_->log().end_position() - begun < 3 * options_.log_bytes_max;
       ++round) {
    for (int id = 0; id < 500; ++id) {
      ASSERT_TRUE(update(bulk, id, round));
      make_log_space();
    }
    ASSERT_LE(database_->transactions().version_bytes(), versions);
  }
  EXPECT_EQ(rows_of(reader.get()), old);
  bulk.commit();
  EXPECT_EQ(rows_of(reader.get()), old);
}

TEST_F(BulkRowsTest, ARefusedCallLeavesWhatWasThere) {
  fill(10);
  const Rows old = rows_of(nullptr);
  InBulk bulk(*database_);
  EXPECT_EQ(insert(bulk, 3, 1).kind(), OutcomeKind::exists);
  EXPECT_EQ(write(bulk,
                  [&](const TableWriter& writes) {
                    return writes.insert({70, std::string_view(name_of(7, 0)), "x"});
                  })
                .kind(),
            OutcomeKind::exists)
      << "the name is taken: the row goes again";
  EXPECT_EQ(write(bulk,
                  [&](const TableWriter& writes) {
                    return writes.update({3}, {{"name", std::string_view(name_of(7, 0))}});
                  })
                .kind(),
            OutcomeKind::exists);
  EXPECT_EQ(rows_of(bulk.in.get()), old);
  ASSERT_TRUE(erase(bulk, 7));
  EXPECT_TRUE(write(bulk, [&](const TableWriter& writes) {
    return writes.insert({70, std::string_view(name_of(7, 0)), "x"});
  }));
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr).size(), 10U);
  EXPECT_TRUE(sound(*database_));
}

// No reader finds what a bulk has deleted: the trees of a dropped table are emptied all the same.
TEST_F(BulkRowsTest, ATableWhoseRowsItHasDeletedGivesItsTreesBack) {
  fill(300);
  {
    InBulk bulk(*database_);
    for (int id = 0; id < 300; ++id) {
      ASSERT_TRUE(erase(bulk, id));
    }
    bulk.commit();
  }
  database_->bulk_epochs().retire(database_->transactions().horizon());  // and no sweep
  const auto by = begin(Isolation::read_committed);
  ASSERT_TRUE(database_->tables().drop_table(*by, "people"));
  by->commit();
  EXPECT_EQ(database_->tree_pool().waiting(), 2U);
  for (int steps = 0; steps < 1000 && database_->tree_pool().step(); ++steps) {
    make_log_space();
  }
  EXPECT_EQ(database_->tree_pool().waiting(), 0U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkRowsTest, TheSpaceOfWhatIsGoneComesBack) {
  fill(50);
  const auto pages = [&] {
    int leaves = 0;
    btree::LeafWalk walk(table().visible_to(nullptr)->rows->descent(),
                         {.lower = {}, .upper = std::nullopt}, btree::Direction::forward);
    while (walk.next()) {
      ++leaves;
    }
    return leaves;
  };
  const int before = pages();
  for (const bool commits : {false, true}) {
    InBulk bulk(*database_);
    for (int id = 1000; id < 2000; ++id) {
      ASSERT_TRUE(insert(bulk, id, 0, std::string(200, 'x')));
      make_log_space();
    }
    commits ? bulk.commit() : bulk.in->rollback();
    sweep();
    if (commits) {
      EXPECT_GT(pages(), 10 * before);
    } else {
      EXPECT_LE(pages(), 2 * before);
    }
  }
  InBulk bulk(*database_);
  for (int id = 1000; id < 2000; ++id) {
    ASSERT_TRUE(erase(bulk, id));
    make_log_space();
  }
  bulk.commit();
  sweep();
  EXPECT_LE(pages(), 2 * before);
  EXPECT_TRUE(sound(*database_));
}

// Memory of versions made late is freed before any transaction is cancelled for it.
TEST_F(BulkRowsTest, VersionsMadeLateAreFreedWhenMemoryIsShort) {
  options_.transactions.version_bytes_max = std::uint64_t{1} << 18U;
  options_.version_bytes_max = std::uint64_t{1} << 18U;
  database_.reset();
  open();
  const std::string body(600, 'x');
  for (int id = 0; id < 1500; ++id) {
    const auto by = begin(Isolation::none);
    ASSERT_TRUE(insert(*by, id, 0, body));
    by->commit();
    make_log_space();
  }
  auto before = begin();
  EXPECT_TRUE(row_of(before.get(), 1));
  {
    InBulk bulk(*database_);
    for (int id = 0; id < 1500; ++id) {
      ASSERT_TRUE(update(bulk, id, 1, body));
      make_log_space();
    }
    bulk.commit();
  }
  const auto update_some = [&](int first, int last) {
    for (int id = first; id < last; ++id) {
      const auto by = begin();
      ASSERT_TRUE(update(*by, id, 2, body));
      by->commit();
      make_log_space();
    }
  };
  update_some(0, 50);
  EXPECT_EQ(row_of(before.get(), 1)->name, name_of(1, 0));
  before.reset();
  update_some(50, 1500);
  EXPECT_EQ(database_->transactions().version_memory().cancelled(), 0U);
}

// A reader that retains only versions made late is cancelled before a writer is refused.
TEST_F(BulkRowsTest, AReaderGoesBeforeAWriterAlsoForVersionsMadeLate) {
  constexpr int kMany = 1500;
  options_.version_bytes_max = std::uint64_t{1} << 18U;
  options_.transactions.version_bytes_max = options_.version_bytes_max;
  database_.reset();
  open();
  const std::string body(600, 'x');
  for (int id = 0; id < kMany; ++id) {
    const auto by = begin(Isolation::none);
    ASSERT_TRUE(insert(*by, id, 0, body));
    by->commit();
    make_log_space();
  }
  const auto before = begin();
  EXPECT_TRUE(row_of(before.get(), 1));
  {
    InBulk bulk(*database_);
    for (int id = 0; id < kMany; ++id) {
      ASSERT_TRUE(update(bulk, id, 1, std::string(600, 'y')));
      make_log_space();
    }
    bulk.commit();
  }
  const auto writer = begin();
  int id = 0;
  EXPECT_EQ(error_of([&] {
              for (; id < kMany; ++id) {
                static_cast<void>(update(*writer, id, 2, std::string(600, 'z')));
                make_log_space();
              }
              return 0;
            }),
            ErrorCode::version_budget_exceeded);
  EXPECT_GT(id, 20);
  EXPECT_EQ(database_->transactions().version_memory().cancelled(), 1U);
  EXPECT_EQ(error_of([&] { return row_of(before.get(), 1); }), ErrorCode::snapshot_too_old);
}

#ifdef PALIMPSEST_SYNC_POINTS

// The commit that forgets an aborted bulk is not durable before the resolution on which it relies,
// which another, uncommitted transaction has logged, far beyond the clock. The thread that writes
// asynchronous commits may run in between, once in its interval: then everything is durable, and
// the test begins again.
TEST_F(BulkRowsTest, IsForgottenOnlyWithWhatHasUndoneIt) {
  options_.transactions.asynchronous_interval = std::chrono::seconds(100);
  fill(300);
  database_.reset();
  const palimpsest::test::SimDisk filled = disk_.snapshot();
  bool is_met = false;
  for (int attempt = 0; attempt < 100 && !is_met; ++attempt) {
    open_after_crash(filled.snapshot());
    {
      InBulk bulk(*database_);
      ASSERT_TRUE(erase(bulk, 295));
      bulk.in->rollback();
    }
    auto writer = begin(Isolation::read_committed);
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(update(*writer, i % 20, i + 1));
    }
    const Gsn durable = database_->log().durable_gsn();
    ASSERT_TRUE(update(*writer, 295, 77));
    sweep();
    EXPECT_TRUE(database_->bulk_epochs().is_empty());
    SyncBarrier appending("wal.append.published");
    std::thread other([&] {
      const auto by = begin(Isolation::read_committed);
      EXPECT_TRUE(update(*by, 150, 5));
      by->rollback();
    });
    appending.wait_until_reached();
    is_met = database_->log().durable_gsn() == durable;
    database_->log().write_pending();
    const palimpsest::test::SimDisk crashed = disk_.crash(7);
    appending.release();
    other.join();
    writer->rollback();
    writer.reset();
    open_after_crash(crashed);
    EXPECT_TRUE(row_of(nullptr, 295)) << "an aborted bulk has deleted it";
    EXPECT_EQ(rows_of(nullptr).size(), 300U);
  }
  EXPECT_TRUE(is_met);
}

TEST_F(BulkRowsTest, ReadersWaitWhileItIsDecided) {
  fill(10);
  const auto before = begin();
  const Rows old = rows_of(before.get());
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 3, 1));
  ASSERT_TRUE(erase(bulk, 4));
  SyncBarrier dated("txn.commit.dated");
  std::thread committer([&] { bulk.commit(); });
  dated.wait_until_reached();
  const auto reader = begin();
  EXPECT_EQ(rows_of(before.get()), old);
  std::atomic<bool> has_seen{false};
  Rows seen;
  std::optional<StoredRow> row;
  std::atomic<bool> waits{false};
  const SyncHook undecided("btree.read.undecided", [&] { waits = true; });
  std::thread looker([&] {
    row = row_of(reader.get(), 3);
    seen = rows_of(reader.get());
    has_seen = true;
  });
  EXPECT_TRUE(palimpsest::test::eventually([&] { return waits.load(); }));
  EXPECT_FALSE(has_seen.load());
  dated.release();
  committer.join();
  looker.join();
  EXPECT_EQ(row->name, name_of(3, 1));
  EXPECT_EQ(seen.at(3).name, name_of(3, 1));
  EXPECT_EQ(seen.count(4), 0U);
  EXPECT_EQ(rows_of(before.get()), old);
}

// A crash at every write and sync, from its first change to its end.
TEST_F(BulkRowsTest, ACrashLeavesAllOfItOrNothing) {
  fill(60);
  const Rows old = rows_of(nullptr);
  Rows changed;
  palimpsest::test::CrashImages crashes(disk_);
  {
    const SyncHook drawn("txn.commit.dated", [&] { crashes.take(); });
    InBulk bulk(*database_);
    crashes.take_at_operations();
    for (int id = 0; id < 60; ++id) {
      ASSERT_TRUE(id % 3 == 0   ? update(bulk, id, 1)
                  : id % 3 == 1 ? erase(bulk, id)
                                : insert(bulk, 100 + id, 1));
      if (id % 20 == 0) {
        database_->checkpointer().run();
      }
    }
    changed = rows_of(bulk.in.get());
    bulk.commit();
    EXPECT_GT(drawn.hits(), 0U);
  }
  crashes.set_committed();
  crashes.take();
  expect_all_or_nothing(crashes.end(), old, changed);
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
