// Rows of a bulk whose leaves are being written while the next ones come: whatever fails meanwhile,
// however the bulk ends, and wherever it crashes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>

#include "palimpsest/error.h"

#include "base/sync_point.h"
#include "tests/bulk/bulk_append_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using palimpsest::test::SimKind;

/// More rows than the buffer holds: some are being written while the next ones come.
class RowsOnTheirWay : public AppendingBulks {
 protected:
  static constexpr int kSent = 7'000;  ///< a part of them is still buffered

  /// After the commit all transactions see these rows.
  void commit(InBulk& bulk, const Rows& rows) {
    bulk.commit();
    EXPECT_EQ(rows_of(nullptr), rows);
    EXPECT_TRUE(sound(*database_));
  }
};

TEST_F(RowsOnTheirWay, AreSeenByTheBulk) {
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, kSent);
  ASSERT_EQ(seen_by(bulk), rows);
  add(bulk, rows, kSent, 2 * kSent);
  EXPECT_EQ(add(bulk, kSent + 1).kind(), OutcomeKind::exists);
  ASSERT_TRUE(erase(bulk, kSent + 2));
  rows.erase(kSent + 2);
  ASSERT_EQ(seen_by(bulk), rows);
  commit(bulk, rows);
}

TEST_F(RowsOnTheirWay, OfTwoTablesByTurns) {
  InBulk bulk(*database_);
  std::map<std::string, Rows> rows;
  for (int part = 0; part < 3; ++part) {
    for (const std::string table : {"plain", "people"}) {
      use(table);
      add(bulk, rows[table], part * 3'000, (part + 1) * 3'000);
    }
  }
  bulk.commit();
  for (const std::string table : {"plain", "people"}) {
    use(table);
    EXPECT_EQ(rows_of(nullptr), rows[table]);
  }
  EXPECT_TRUE(sound(*database_));
}

// A bulk that fills many tables, one after the other or by turns, needs no more memory than for
// some.
TEST_F(RowsOnTheirWay, OfManyTablesTakeBoundedMemory) {
  constexpr int kTables = 12;
  constexpr int kRows = 3'000;  // too few to be sent
  const auto name_at = [](int number) { return fmt::format("table {}", number); };
  {
    const auto by = database_->begin(txn::Durability::synchronous, txn::Isolation::read_committed);
    for (int number = 0; number < kTables; ++number) {
      ASSERT_TRUE(database_->tables().create_table(*by, people(name_at(number))));
    }
    by->commit();
  }
  Rows rows;
  InBulk bulk(*database_);
  std::size_t most = 0;
  for (int number = 0; number < kTables; ++number) {
    use(name_at(number));
    add(bulk, rows, 0, kRows);
    most = std::max(most, bulk.bulk->kept_bytes());
  }
  for (int id = kRows; id < 2 * kRows; ++id) {
    for (int number = 0; number < kTables; ++number) {
      use(name_at(number));
      ASSERT_TRUE(add(bulk, id));
    }
    rows[id] = {name_of(id, 0), kBody};
    most = std::max(most, bulk.bulk->kept_bytes());
    make_log_space();
  }
  EXPECT_GT(most, bulk::RecordBuffer::kBytesMax);
  EXPECT_LE(most, Bulk::kKeptBytesMax + bulk::RecordBuffer::kPieceBytes);
  bulk.commit();
  for (int number = 0; number < kTables; ++number) {
    use(name_at(number));
    EXPECT_EQ(rows_of(nullptr), rows);
  }
  bulk.bulk->let_go();
  EXPECT_EQ(bulk.bulk->kept_bytes(), 0U);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(RowsOnTheirWay, ABulkThatEndsTakesThemWithIt) {
  for (const bool is_let_go : {false, true}) {
    const Rows old = rows_of(nullptr);
    {
      InBulk bulk(*database_);
      Rows rows;
      add(bulk, rows, 0, kSent);
      if (is_let_go) {
        bulk.bulk->let_go();
        bulk.in->rollback();
      }
    }
    sweep();
    free_all();
    EXPECT_EQ(rows_of(nullptr), old);
    EXPECT_TRUE(sound(*database_));
  }
}

// A later call reports a page that cannot be written. No row is lost by that.
TEST_F(RowsOnTheirWay, ThatCannotBeWrittenAreKept) {
  for (palimpsest::test::Sweep places(7, 2, 3); const auto before = places.next();) {
    const std::uint64_t nth = *before + 1;
    SCOPED_TRACE(nth);
    InBulk bulk(*database_);
    Rows rows;
    const int begin = static_cast<int>(nth) * 100'000;
    add(bulk, rows, begin, begin + 4'000);
    disk_.inject({.error = ENOSPC,
                  .kinds = static_cast<unsigned>(SimKind::write),
                  .file = std::string(buffer::kPageFileName),
                  .nth = nth,
                  .for_good = true});
    int id = begin + 4'000;
    const auto code = error_of([&] {
      for (; id < begin + 30'000; ++id) {
        ASSERT_TRUE(add(bulk, id));
        rows[id] = {name_of(id, 0), kBody};
      }
    });
    EXPECT_EQ(code, ErrorCode::no_space);
    EXPECT_EQ(error_of([&] { bulk.bulk->append_kept(); }), ErrorCode::no_space) << "tried again";
    disk_.clear_faults();
    make_log_space();
    add(bulk, rows, id, id + 3'000);
    ASSERT_EQ(seen_by(bulk), rows);
    bulk.in->rollback();
    bulk.bulk.reset();
    sweep();
    free_all();
    EXPECT_TRUE(sound(*database_));
  }
}

#ifdef PALIMPSEST_SYNC_POINTS

// The engine cancels a call that has begun a run and has not committed. The call has left nothing
// in the log: the tree ends with an empty leaf already.
TEST_F(RowsOnTheirWay, ACallThatGaveWayBeginsThemAgain) {
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, kSent);
  // Of the second call's run, only pages that the call waits for are written, until it is dropped.
  std::atomic<bool> is_held = false;
  std::counting_semaphore<> may_write(0);
  disk_.set_hook(
      [&, owner = std::this_thread::get_id()](const palimpsest::test::SimOperation& operation) {
        if (is_held && operation.kind == SimKind::write && std::this_thread::get_id() != owner) {
          may_write.acquire();
        }
      });
  {
    constexpr int kBegins = 2;  // the first call attaches the leaves sent before
    int calls = 0;
    const SyncHook awaited("buffer.fresh.awaited", [&] { may_write.release(); });
    const SyncHook dropping("buffer.fresh.dropping", [&] {
      is_held = false;
      may_write.release();
    });
    const SyncHook called("engine.bulk.called", [&] {
      ++calls;
      is_held = calls == kBegins - 1;
      if (calls == kBegins) {
        database_->transactions().cancel_older_than(database_->transactions().now());
      }
    });
    add(bulk, rows, kSent, 2 * kSent);
    EXPECT_EQ(calls, kBegins + 1);
  }
  disk_.set_hook({});
  ASSERT_EQ(seen_by(bulk), rows);
  commit(bulk, rows);
}

// Its rows are in the tree then, and their memory is reusable.
TEST_F(RowsOnTheirWay, ACallThatGaveWayHasHungThem) {
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, kSent);
  int id = kSent;
  {
    bool is_first = true;
    const SyncHook called("engine.bulk.called", [&] {
      if (std::exchange(is_first, false)) {
        database_->transactions().cancel_older_than(database_->transactions().now());
      }
    });
    const auto code = error_of([&] {
      for (; id < 3 * kSent; ++id) {
        ASSERT_TRUE(add(bulk, id));
        rows[id] = {name_of(id, 0), kBody};
      }
    });
    EXPECT_EQ(code, ErrorCode::transaction_too_old);
  }
  int calls = 0;
  {
    const SyncHook called("engine.bulk.called", [&] { ++calls; });
    add(bulk, rows, id, 3 * kSent);
  }
  EXPECT_LT(calls, 30) << "rows are appended many at once";
  ASSERT_EQ(seen_by(bulk), rows);
  commit(bulk, rows);
}

#endif

TEST(RecordBuffer, TakeMemoryAPieceAtATime) {
  bulk::RecordBuffer kept;
  const std::string value(bulk::RecordBuffer::kPieceBytes - 1, 'v');
  const std::string large(2 * bulk::RecordBuffer::kPieceBytes, 'w');
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::string& record : {value, value, large}) {
      kept.expect(1, 1 + record.size());
      EXPECT_TRUE(kept.has_memory_for(1 + record.size()));
      kept.add({.key = "a", .value = record});
      EXPECT_EQ(kept.records().back().value, record);
    }
    EXPECT_EQ(kept.records().front().value, value);
    EXPECT_EQ(kept.memory_bytes(), 4 * bulk::RecordBuffer::kPieceBytes + 1)
        << "what there was is used";
    EXPECT_FALSE(kept.has_memory_for(1));
    kept.clear();
  }
  kept.give_back();
  EXPECT_EQ(kept.memory_bytes(), 0U);
}

TEST(RecordBuffer, HaveRoomWhenAllAreDropped) {
  bulk::RecordBuffer kept;
  kept.expect(2, 4);
  kept.add({.key = "a", .value = "1"});
  kept.add({.key = "b", .value = "2"});
  kept.drop(1);
  EXPECT_FALSE(kept.has_room_for(bulk::RecordBuffer::kBytesMax));
  kept.drop(1);
  EXPECT_TRUE(kept.empty());
  EXPECT_TRUE(kept.has_room_for(bulk::RecordBuffer::kBytesMax));
}

TEST_F(RowsOnTheirWay, ACrashLeavesAllOfThemOrNone) {
  const Rows old = rows_of(nullptr);
  Rows changed = old;
  palimpsest::test::CrashImages crashes(disk_);
  {
    InBulk bulk(*database_);
    add(bulk, changed, 0, 4'000);
    crashes.take_at_operations();
    for (int end = 6'000; end <= 14'000; end += 2'000) {
      for (int id = end - 2'000; id < end; ++id) {
        ASSERT_TRUE(add(bulk, id));
        changed[id] = {name_of(id, 0), kBody};
      }
    }
    bulk.commit();
  }
  crashes.set_committed();
  crashes.take();
  expect_all_or_nothing(crashes.end(), old, changed);
}

}  // namespace
}  // namespace palimpsest::engine::test
