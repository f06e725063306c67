// Ranges of rows erased by a bulk, a leaf at a time: the result for the bulk, for readers, for
// later writers, on disk, and after a crash.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "btree/leaf_walk.h"
#include "tests/bulk/bulk_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/eventually.h"
#include "tests/support/seed.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using txn::Isolation;
using Bound = Range::Bound;

class BulkRange : public BulkRows {
 protected:
  BulkRange() { make_plain(); }

  /// Rows [0, count), some of them in one leaf, which survive a crash.
  void fill(int count, const std::string& body = std::string(300, 'b')) {
    for (int id = 0; id < count; ++id) {
      const auto by = begin(Isolation::read_committed);
      for (int end = std::min(count, id + 100); id < end; ++id) {
        ASSERT_TRUE(insert(*by, id, 0, body));
      }
      --id;
      by->commit();
      make_log_space();
    }
    database_->log().wait_durable(database_->transactions().now());
  }
  /// Makes every kind of record that a bulk can meet, some of them by the bulk itself.
  void change_before(InBulk& bulk, Rows& rows, int count) {
    for (int id = 0; id < count; id += 5) {
      ASSERT_TRUE(update(bulk, id, 7));
      rows[id] = {name_of(id, 7), "body"};
    }
    for (int id = 1; id < count; id += 10) {
      ASSERT_TRUE(erase(bulk, id));
      rows.erase(id);
    }
    for (int id = 1; id < count; id += 20) {
      ASSERT_TRUE(insert(bulk, id, 8));
      rows[id] = {name_of(id, 8), "body"};
    }
    for (int id = count; id < count + 30; ++id) {
      ASSERT_TRUE(insert(bulk, id, 9));
      rows[id] = {name_of(id, 9), "body"};
    }
  }
  /// Erases [lower, upper] in the table and in `rows`.
  void erase_rows(auto& by, Rows& rows, int lower, int upper) {
    const auto first = rows.lower_bound(lower);
    const auto last = rows.upper_bound(upper);
    const auto count = static_cast<std::uint64_t>(std::distance(first, last));
    EXPECT_EQ(erase_range(by, Range::between({lower}, {upper})).require(), count);
    rows.erase(first, last);
  }
  [[nodiscard]] std::uint64_t pages_in_use() { return database_->space().counts().allocated; }
};

TEST_F(BulkRange, IsAsIfErasedOneByOne) {
  fill(400);
  const auto before = begin();
  const Rows old = rows_of(before.get());
  Rows rows = old;
  InBulk bulk(*database_);
  change_before(bulk, rows, 400);
  erase_rows(bulk, rows, 37, 410);
  EXPECT_EQ(rows_of(bulk.in.get()), rows);
  EXPECT_EQ(rows_of(bulk.in.get(), Direction::backward), rows);
  EXPECT_EQ(rows_of(before.get()), old);
  EXPECT_EQ(rows_of(nullptr), old);
  ASSERT_TRUE(insert(bulk, 50, 3));
  ASSERT_TRUE(insert(bulk, 405, 3));
  EXPECT_EQ(update(bulk, 51, 3).kind(), OutcomeKind::absent);
  rows[50] = {name_of(50, 3), "body"};
  rows[405] = {name_of(405, 3), "body"};
  erase_rows(bulk, rows, 48, 60);
  bulk.commit();
  EXPECT_EQ(rows_of(before.get()), old);
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_EQ(rows_of(begin().get()), rows);
}

TEST_F(BulkRange, AnAbortedOneHasNeverBeen) {
  fill(400);
  const Rows old = rows_of(nullptr);
  for (const bool swept : {false, true}) {
    Rows rows = old;
    InBulk bulk(*database_);
    change_before(bulk, rows, 400);
    erase_rows(bulk, rows, 0, 1000);
    EXPECT_TRUE(rows_of(bulk.in.get()).empty());
    bulk.in->rollback();
    EXPECT_EQ(rows_of(nullptr), old);
    if (swept) {
      sweep();
      EXPECT_TRUE(database_->bulk_epochs().is_empty());
    }
    EXPECT_EQ(rows_of(nullptr), old);
    EXPECT_TRUE(sound(*database_));
  }
}

TEST_F(BulkRange, TakesNoVersionsAndLittleLog) {
  fill(3'000);
  const auto reader = begin();
  const Rows old = rows_of(reader.get());
  const std::uint64_t logged = database_->log().statistics().record_bytes;
  const auto versions = [&] { return database_->transactions().version_bytes(); };
  InBulk bulk(*database_);
  EXPECT_EQ(erase_range(bulk, Range::prefix({7})).require(), 1U);
  const auto kept = versions();
  EXPECT_EQ(erase_range(bulk, Range::all()).require(), 2'999U);
  EXPECT_EQ(versions(), kept);
  EXPECT_LT(database_->log().statistics().record_bytes - logged, 3'000U * 300 / 15);
  bulk.commit();
  EXPECT_EQ(rows_of(reader.get()), old);
  EXPECT_TRUE(rows_of(nullptr).empty());
}

TEST_F(BulkRange, GivesItsSpaceBack) {
  const std::uint64_t empty = pages_in_use();
  fill(3'000);
  InBulk bulk(*database_);
  EXPECT_EQ(erase_range(bulk, Range::from({100})).require(), 2'900U);
  bulk.commit();
  const std::uint64_t before = pages_in_use();
  sweep();
  free_all();
  EXPECT_LT(pages_in_use() - empty, (before - empty) / 5);
  EXPECT_EQ(rows_of(nullptr).size(), 100U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkRange, HasTheBoundsOfItsRange) {
  fill(60);
  Rows rows = rows_of(nullptr);
  InBulk bulk(*database_);
  const auto erased = [&](const Range& range) { return erase_range(bulk, range).require(); };
  EXPECT_EQ(erased(Range::between({20}, {10})), 0U);
  EXPECT_EQ(erased(Range::from({60})), 0U);
  EXPECT_EQ(erased(Range::up_to({0}, Bound::exclusive)), 0U);
  EXPECT_EQ(erased(Range::between({10}, {12}, Bound::exclusive, Bound::exclusive)), 1U);
  EXPECT_EQ(erased(Range::between({10}, {12})), 2U);
  EXPECT_EQ(erased(Range::up_to({3})), 4U);
  EXPECT_EQ(erased(Range::from({57}, Bound::exclusive)), 2U);
  EXPECT_EQ(erased(Range::prefix({30})), 1U);
  for (const int id : {0, 1, 2, 3, 10, 11, 12, 30, 58, 59}) {
    rows.erase(id);
  }
  EXPECT_EQ(rows_of(bulk.in.get()), rows);
  EXPECT_EQ(erased(Range::all()), rows.size());
  EXPECT_EQ(erased(Range::all()), 0U);
}

TEST_F(BulkRange, OfATableWithAnIndexTakesTheEntriesWithIt) {
  use("people");
  fill(2'500, "body");
  Rows rows = rows_of(nullptr);
  InBulk bulk(*database_);
  erase_rows(bulk, rows, 100, 2'400);
  EXPECT_EQ(id_of(bulk.in.get(), name_of(100, 0)), std::nullopt);
  EXPECT_EQ(id_of(nullptr, name_of(100, 0)), 100);
  ASSERT_TRUE(insert(bulk, 5'000, 0));
  bulk.commit();
  EXPECT_EQ(id_of(nullptr, name_of(2'400, 0)), std::nullopt);
  EXPECT_EQ(id_of(nullptr, name_of(99, 0)), 99);
  EXPECT_EQ(rows_of(nullptr).size(), rows.size() + 1);
  sweep();
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkRange, OfATableThatItFills) {
  Rows rows;
  InBulk bulk(*database_);
  for (int id = 0; id < 3'000; ++id) {
    ASSERT_TRUE(bulk.bulk->insert(table(), {id, "name", "body"}));
    rows[id] = {"name", "body"};
  }
  erase_rows(bulk, rows, 500, 2'998);
  EXPECT_EQ(rows_of(bulk.in.get()), rows);
  EXPECT_TRUE(rows_of(nullptr).empty());
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkRange, OfLargeRows) {
  const std::string large(3'000, 'L');
  fill(60, large);
  const Rows old = rows_of(nullptr);
  const std::uint64_t full = pages_in_use();
  for (const bool commits : {false, true}) {
    Rows rows = old;
    InBulk bulk(*database_);
    ASSERT_TRUE(update(bulk, 20, 1, large));
    ASSERT_TRUE(update(bulk, 21, 1));
    ASSERT_TRUE(insert(bulk, 100, 1, large));
    rows[100] = {};
    erase_rows(bulk, rows, 10, 200);
    commits ? bulk.commit() : bulk.in->rollback();
    EXPECT_EQ(rows_of(nullptr), commits ? rows : old);
    sweep();
    free_all();
    EXPECT_TRUE(sound(*database_));
  }
  EXPECT_LT(pages_in_use(), full / 2);
}

// Buffered rows are appended before.
TEST_F(BulkRange, SeesRowsThatWereKept) {
  fill(20);
  InBulk bulk(*database_);
  for (int id = 100; id < 200; ++id) {
    ASSERT_TRUE(bulk.bulk->insert(table(), {id, "name", "body"}));
  }
  EXPECT_EQ(erase_range(bulk, Range::from({10})).require(), 110U);
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr).size(), 10U);
}

// The call cannot undo its changes; so the bulk must not commit them.
TEST_F(BulkRange, ThatFailsHalfWayLeavesABulkThatCanOnlyBeRolledBack) {
  options_.memory_bytes = std::uint64_t{2} << 20U;  // the smallest allowed
  database_.reset();
  open();
  fill(6'000, std::string(700, 'b'));
  const Rows old = rows_of(nullptr);
  std::size_t broken = 0;
  for (std::uint64_t nth = 1; nth < 400 && broken < 3; nth += 40) {
    InBulk bulk(*database_);
    ASSERT_TRUE(update(bulk, 5'999, 1));
    disk_.inject({.error = EIO,
                  .kinds = unsigned(palimpsest::test::SimKind::read),
                  .nth = nth,
                  .for_good = true});
    try {
      static_cast<void>(erase_range(bulk, Range::all()));
      disk_.clear_faults();
      bulk.in->rollback();
      continue;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io_error) << error.what();
    }
    disk_.clear_faults();
    if (rows_of(bulk.in.get()).size() < old.size()) {
      ++broken;
      EXPECT_EQ(error_of([&] { return update(bulk, 3, 1); }), ErrorCode::failed);
      EXPECT_EQ(error_of([&] { return erase_range(bulk, Range::all()); }), ErrorCode::failed);
      EXPECT_EQ(error_of([&] { return bulk.commit(), 0; }), ErrorCode::failed);
    }
    bulk.in->rollback();
    EXPECT_EQ(rows_of(nullptr), old);
  }
  EXPECT_EQ(broken, 3U);
}

#ifdef PALIMPSEST_SYNC_POINTS

/// Few transactions, with everything in the background.
class SweptBulkRange : public BulkRows {
 protected:
  SweptBulkRange() : BulkRows(options()) { make_plain(); }

  [[nodiscard]] static EngineOptions options() {
    EngineOptions options = bulk_options();
    options.max_transactions = 4;
    options.background_threads = true;
    options.background_sweeps = true;
    options.transactions.begin_patience = std::chrono::milliseconds(20);
    return options;
  }
  [[nodiscard]] std::size_t ghosts() {
    std::size_t ghosts = 0;
    btree::LeafWalk walk(table().visible_to(nullptr)->rows->descent(),
                         {.lower = {}, .upper = std::nullopt}, btree::Direction::forward);
    while (walk.next()) {
      ghosts += static_cast<std::size_t>(walk.leaf().ghost_count());
    }
    return ghosts;
  }
};

// The bulk's epoch is retired by then, and no thread wakes the sweep.
TEST_F(SweptBulkRange, WhatCouldNotBeSweptIsTriedAgain) {
  {
    const auto by = begin(Isolation::read_committed);
    for (int id = 0; id < 500; ++id) {
      ASSERT_TRUE(insert(*by, id, 0));
    }
    by->commit();
  }
  std::vector<txn::TransactionPtr> others;
  {
    InBulk bulk(*database_);
    ASSERT_EQ(erase_range(bulk, Range::all()).require(), 500U);
    const auto take_slot = [&] { others.push_back(begin(Isolation::none)); };
    EXPECT_EQ(error_of([&] {
                for (;;) {
                  take_slot();
                }
              }),
              ErrorCode::too_many_transactions);
    bulk.commit();
    EXPECT_TRUE(palimpsest::test::eventually([&] { return database_->bulk_epochs().is_empty(); }));
    const SyncHook tried("engine.bulk.sweep_tried", [] {});
    EXPECT_TRUE(palimpsest::test::eventually([&] { return tried.hits() > 1; }));
  }
  EXPECT_NE(ghosts(), 0U);
  others.clear();
  EXPECT_TRUE(palimpsest::test::eventually([&] { return ghosts() == 0; }));
}

// One call deletes in many leaves, so that its records are far ahead of what the bulk has committed
// before; and another writer is in the middle of an append, which limits the horizon that a round
// may state. No round of asynchronous commits comes in between: with it, the commit's date would be
// behind the append that its own thread is in, and wait for that.
TEST_F(BulkRange, IsDurableWithItsCommit) {
  options_.transactions.asynchronous_interval = std::chrono::seconds(100);
  database_.reset();
  open();
  fill(1'500);
  std::optional<palimpsest::test::SimDisk> crashed;
  {
    const auto in_append = begin(Isolation::none);
    InBulk bulk(*database_);
    ASSERT_EQ(erase_range(bulk, Range::from({10})).require(), 1'490U);
    bulk.bulk->publish();
    use("people");
    for (int id = 0; id < 10; ++id) {
      ASSERT_TRUE(insert(*in_append, id, 0));
    }
    const SyncHook published("wal.append.published", [&] {
      if (!crashed) {
        crashed.emplace(disk_);  // so that this runs only once
        bulk.in->commit();
        crashed = disk_.crash(1, palimpsest::test::CrashKeeps::nothing);
      }
    });
    ASSERT_TRUE(insert(*in_append, 11, 0));
    ASSERT_TRUE(crashed);
    in_append->commit();
    use("plain");
  }
  open_after_crash(*crashed);
  EXPECT_EQ(rows_of(nullptr).size(), 10U);
  EXPECT_TRUE(sound(*database_));
}

// A writer needs log space, and the engine cancels every transaction that holds the log back.
TEST_F(BulkRange, GivesWayAndGoesOn) {
  fill(1'500);
  InBulk bulk(*database_);
  ASSERT_TRUE(update(bulk, 1'400, 1));
  int asked = 0;
  {
    const SyncHook erased("btree.range.erased", [&] {
      if (++asked % 10 == 0) {
        database_->transactions().cancel_older_than(database_->transactions().now());
      }
    });
    EXPECT_EQ(erase_range(bulk, Range::from({10})).require(), 1'490U);
  }
  EXPECT_GT(asked, 100);
  ASSERT_TRUE(insert(bulk, 20, 1));
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr).size(), 11U);
}

TEST_F(BulkRange, ACrashLeavesAllOfItOrNothing) {
  fill(300);
  const Rows old = rows_of(nullptr);
  Rows changed = old;
  palimpsest::test::CrashImages crashes(disk_);
  {
    const SyncHook erased("btree.range.erased", [&] { crashes.take(); });
    InBulk bulk(*database_);
    crashes.take_at_operations();
    change_before(bulk, changed, 300);
    erase_rows(bulk, changed, 40, 150);
    database_->checkpointer().run();
    erase_rows(bulk, changed, 130, 320);
    bulk.commit();
    EXPECT_GT(erased.hits(), 10U);
  }
  crashes.set_committed();
  crashes.take();
  expect_all_or_nothing(crashes.end(), old, changed);
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
