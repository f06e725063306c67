// Rows that a bulk inserts in ascending order: appended as leaves of their own, and otherwise rows
// like any others, whatever comes between them, whatever fails, and wherever it crashes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "palimpsest/error.h"

#include "base/random.h"
#include "base/sync_point.h"
#include "engine/table/new_row.h"
#include "tests/btree/allocation_faults.h"
#include "tests/bulk/bulk_append_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"
#include "tests/support/test_seconds.h"

namespace palimpsest::engine::test {
namespace {

using palimpsest::test::error_of;
using txn::Isolation;

/// Rows as callers encode them.
class Encoded {
 public:
  Encoded(const TableState& table, int begin, int end, const std::string& body) {
    const TableDefinition& definition = *table.visible_to(nullptr);
    for (int id = begin; id < end; ++id) {
      const std::string name = name_of(id, 0);
      const NewRow row(definition, Values{id, std::string_view(name), std::string_view(body)});
      bytes_.emplace_back(row.key(), row.bytes());
    }
  }
  [[nodiscard]] std::vector<EncodedRow> rows() const {
    std::vector<EncodedRow> rows;
    rows.reserve(bytes_.size());
    for (const auto& [key, bytes] : bytes_) {
      rows.push_back(EncodedRow::of(key, bytes));
    }
    return rows;
  }

 private:
  std::vector<std::pair<std::string, std::string>> bytes_;
};

class BulkAppend : public AppendingBulks {
 protected:
  void change(InBulk& bulk, Rows& rows, Random& random);
};

TEST_F(BulkAppend, ManyRowsAreWrittenOnceAndNotLogged) {
  Rows rows;
  const std::uint64_t logged = database_->log().statistics().record_bytes;
  {
    InBulk bulk(*database_);
    add(bulk, rows, 0, 15'000);
    bulk.commit();
  }
  EXPECT_GT(fresh_pages(), 15'000U * 800 / 4096);
  EXPECT_LT(database_->log().statistics().record_bytes - logged, 15'000U * 800 / 20);
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
  database_.reset();
  open();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkAppend, FewRowsAreInserted) {
  Rows rows;
  InBulk bulk(*database_);
  add(bulk, rows, 0, 100);
  bulk.commit();
  EXPECT_EQ(fresh_pages(), 0U);
  EXPECT_EQ(rows_of(nullptr), rows);
}

TEST_F(BulkAppend, TheBulkSeesItsRowsAtOnce) {
  Rows rows;
  InBulk bulk(*database_);
  for (int end = 50; end <= 1'000; end += 50) {
    add(bulk, rows, end - 50, end);
    ASSERT_EQ(seen_by(bulk), rows);
    ASSERT_TRUE(update(bulk, end - 1, 7));
    rows[end - 1] = {name_of(end - 1, 7), "body"};
  }
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkAppend, KeysThatAreThereAreRefused) {
  for (const std::string table : {"plain", "people"}) {
    use(table);
    InBulk bulk(*database_);
    Rows rows;
    add(bulk, rows, 0, 2'000);
    EXPECT_EQ(add(bulk, 1'999).kind(), OutcomeKind::exists) << "the last one, still kept";
    EXPECT_EQ(add(bulk, 5).kind(), OutcomeKind::exists);
    add(bulk, rows, 2'000, 4'000);
    const Encoded again(this->table(), 3'999, 6'000, kBody);
    EXPECT_EQ(bulk.bulk->insert_many(this->table(), again.rows()).kind(), OutcomeKind::exists);
    EXPECT_EQ(seen_by(bulk), rows) << "all of them, or none";
    bulk.commit();
    EXPECT_EQ(rows_of(nullptr), rows);
    EXPECT_TRUE(sound(*database_));
  }
}

TEST_F(BulkAppend, AUniqueIndexRefusesAllOfACall) {
  use("people");
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, 3'000);
  // The name of another row: refused before any of the rows is buffered.
  const std::string taken = name_of(10, 0);
  EXPECT_EQ(bulk.bulk->insert(table(), {3'000, std::string_view(taken), std::string_view()}).kind(),
            OutcomeKind::exists);
  EXPECT_EQ(seen_by(bulk), rows);
  EXPECT_EQ(id_of(bulk.in.get(), taken), 10);
  add(bulk, rows, 3'000, 4'000);
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkAppend, ManyInOneCall) {
  InBulk bulk(*database_);
  Rows rows;
  for (const auto& [begin, end] : {std::pair(0, 3), {3, 20'000}, {20'000, 20'500}}) {
    const Encoded encoded(table(), begin, end, kBody);
    ASSERT_TRUE(bulk.bulk->insert_many(table(), encoded.rows()));
    for (int id = begin; id < end; ++id) {
      rows[id] = {name_of(id, 0), kBody};
    }
  }
  EXPECT_TRUE(bulk.bulk->insert_many(table(), {}));
  bulk.bulk->append_kept();
  EXPECT_TRUE(bulk.bulk->insert_many(table(), {})) << "with nothing kept";
  bulk.commit();
  EXPECT_GT(fresh_pages(), 0U);
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

// A bulk has no claims: undo must restore what a call has removed all the same.
TEST_F(BulkAppend, ACallThatFailsIsUndone) {
  Rows rows;
  InBulk bulk(*database_);
  for (int id = 0; id < 200; ++id) {
    ASSERT_TRUE(add(bulk, id, 0, "many in a leaf"));
    rows[id] = {name_of(id, 0), "many in a leaf"};
  }
  const auto fails = [&](const TableWriter& writes) -> Outcome {
    for (int id = 0; id < 150; ++id) {
      if (id % 20 == 0) {
        writes.update({id}, {{"body", std::string_view("short")}}).require();
      }
      writes.erase({id}).require();
    }
    throw Error(ErrorCode::no_space, "for the test");
  };
  EXPECT_EQ(error_of([&] { return bulk.write(table(), fails); }), ErrorCode::no_space);
  EXPECT_EQ(seen_by(bulk), rows);
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

// Existing rows look unchanged to other transactions, also where new ones come behind them.
TEST_F(BulkAppend, BehindRowsThatAreThere) {
  Rows old;
  {
    const auto by = begin(Isolation::read_committed);
    for (int id = 0; id < 100; ++id) {
      ASSERT_TRUE(insert(*by, id, 0, kBody));
      old[id] = {name_of(id, 0), kBody};
    }
    by->commit();
  }
  const auto reader = begin();
  ASSERT_EQ(rows_of(reader.get()), old);
  for (const bool commits : {false, true}) {
    InBulk bulk(*database_);
    Rows rows = old;
    ASSERT_TRUE(erase(bulk, 99));
    rows.erase(99);
    add(bulk, rows, 100, 3'000);
    ASSERT_EQ(seen_by(bulk), rows);
    EXPECT_EQ(rows_of(nullptr), old);
    commits ? bulk.commit() : bulk.in->rollback();
    EXPECT_EQ(rows_of(reader.get()), old);
    EXPECT_EQ(rows_of(nullptr), commits ? rows : old);
    if (!commits) {
      sweep();
      EXPECT_EQ(rows_of(nullptr), old);
    }
    EXPECT_TRUE(sound(*database_));
  }
  EXPECT_GT(fresh_pages(), 1'000U * 800 / 4096);
}

// Runs of ascending rows with all other operations in between, against a map.
void BulkAppend::change(InBulk& bulk, Rows& rows, Random& random) {
  const int end = rows.empty() ? 0 : rows.rbegin()->first + 1;
  const int known = static_cast<int>(random.below(static_cast<std::uint64_t>(end) + 1));
  const bool is_there = rows.contains(known);
  switch (random.below(6)) {
    case 0:
      ASSERT_EQ(update(bulk, known, 3).is_done(), is_there);
      if (is_there) {
        rows[known] = {name_of(known, 3), "body"};
      }
      break;
    case 1:
      ASSERT_EQ(erase(bulk, known).is_done(), is_there);
      rows.erase(known);
      break;
    case 2:
      ASSERT_EQ(add(bulk, known, 5, "again").is_done(), !is_there);
      if (!is_there) {
        rows[known] = {name_of(known, 5), "again"};
      }
      break;
    case 3: {
      const std::string large(3'000, 'l');
      ASSERT_TRUE(add(bulk, end, 9, large));
      rows[end] = {name_of(end, 9), large};
      break;
    }
    default: {
      const int first = end + static_cast<int>(random.below(5));
      add(bulk, rows, first, first + static_cast<int>(random.below(700)));
    }
  }
}

TEST_F(BulkAppend, WhateverComesBetween) {
  Random random(palimpsest::test::seed());
  Rows committed;
  for (palimpsest::test::Rounds rounds(6, 2); rounds.next();) {
    InBulk bulk(*database_);
    Rows rows = committed;
    for (int step = 0; step < 15; ++step) {
      ASSERT_NO_FATAL_FAILURE(change(bulk, rows, random));
      if (random.one_in(3)) {
        ASSERT_EQ(seen_by(bulk), rows);
      }
    }
    ASSERT_EQ(seen_by(bulk), rows);
    if (random.one_in(3)) {
      bulk.in->rollback();
      sweep();
    } else {
      bulk.commit();
      committed = rows;
    }
    ASSERT_EQ(rows_of(nullptr), committed);
    free_all();
    ASSERT_TRUE(sound(*database_));
  }
}

#ifdef PALIMPSEST_SYNC_POINTS

/// The first allocation of this thread after leaves were attached fails.
class FaultWhenHung {
 public:
  [[nodiscard]] bool met() const { return fault_ && fault_->met(); }

 private:
  std::optional<btree::test::AllocationFault> fault_;
  SyncHook hung_{"btree.graft.hung", [this] {
                   if (!fault_) {
                     fault_.emplace(1);
                   }
                 }};
};

// Attached leaves stay in the tree, and the remaining rows stay buffered.
TEST_F(BulkAppend, KeptRowsThatCannotBeAppendedAreNotLost) {
  if (!btree::test::kAllocationsCanFail) {
    GTEST_SKIP() << "allocations cannot be made to fail here";
  }
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, 4'000);
  {
    const FaultWhenHung fault;
    EXPECT_THROW(bulk.bulk->append_kept(), std::bad_alloc);
    EXPECT_TRUE(fault.met());
  }
  const std::size_t hung = rows_of(bulk.in.get()).size();
  EXPECT_GT(hung, 0U);
  EXPECT_LT(hung, rows.size());
  EXPECT_EQ(seen_by(bulk), rows);
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

// Memory runs out when some of the leaves are attached: the log does not remove them again.
TEST_F(BulkAppend, ABulkThatFailsHalfWayCanOnlyBeRolledBack) {
  if (!btree::test::kAllocationsCanFail) {
    GTEST_SKIP() << "allocations cannot be made to fail here";
  }
  const Rows old = rows_of(nullptr);
  const Encoded encoded(table(), 0, 6'000, kBody);
  const std::vector<EncodedRow> rows = encoded.rows();
  InBulk bulk(*database_);
  {
    const FaultWhenHung fault;
    EXPECT_THROW(static_cast<void>(bulk.bulk->insert_many(table(), rows)), std::bad_alloc);
    EXPECT_TRUE(fault.met());
  }
  const auto refuses = [&](const auto& call) {
    EXPECT_EQ(error_of(call, "can only be rolled back"), ErrorCode::failed);
  };
  refuses([&] { static_cast<void>(erase(bulk, 1)); });
  const Encoded more(table(), 11'000, 17'000, kBody);
  refuses([&] { static_cast<void>(bulk.bulk->insert_many(table(), more.rows())); });
  refuses([&] { bulk.commit(); });
  bulk.in->rollback();
  sweep();
  EXPECT_EQ(rows_of(nullptr), old);
  EXPECT_TRUE(sound(*database_));
}

// The entries of the rows are there before the rows are.
TEST_F(BulkAppend, EntriesWithoutTheirRowsAreNotCommitted) {
  use("people");
  InBulk bulk(*database_);
  const Encoded encoded(table(), 0, 6'000, kBody);
  const std::vector<EncodedRow> rows = encoded.rows();
  {
    bool is_met = false;
    const SyncHook written("btree.append.begun", [&] {
      is_met = true;
      disk_.inject({.error = ENOSPC,
                    .kinds = static_cast<unsigned>(palimpsest::test::SimKind::write),
                    .file = std::string(buffer::kPageFileName)});
    });
    EXPECT_EQ(error_of([&] { return bulk.bulk->insert_many(table(), rows); }), ErrorCode::no_space);
    EXPECT_TRUE(is_met);
    disk_.clear_faults();
  }
  EXPECT_EQ(error_of([&] { bulk.commit(); }, "can only be rolled back"), ErrorCode::failed);
  bulk.in->rollback();
  sweep();
  EXPECT_EQ(rows_of(nullptr), Rows());
  EXPECT_TRUE(sound(*database_));
}

// The engine cancels a bulk, which holds the log back, after the statement that has stored its
// outcome: nothing of it becomes visible.
TEST_F(BulkAppend, WhatWasCancelledWhilePublishedDoesNotCount) {
  {
    InBulk bulk(*database_);
    ASSERT_TRUE(add(bulk, 1));
    const SyncHook stored("engine.definitions.stored", [&] {
      std::thread([&] {
        EXPECT_EQ(database_->transactions().cancel_older_than(database_->transactions().now()), 1U);
      }).join();
    });
    EXPECT_EQ(error_of([&] { bulk.bulk->publish(); }), ErrorCode::transaction_too_old);
    bulk.in->rollback();
  }
  const TableDefinition& counts = *table().visible_to(nullptr);
  EXPECT_TRUE(counts.commit_status == nullptr || counts.commit_status->is_committed());
  {
    const auto by = begin(txn::Isolation::none);
    ASSERT_TRUE(insert(*by, 5, 0, "x"));
    by->commit();
  }
  sweep();
  EXPECT_EQ(rows_of(nullptr).size(), 1U);
  EXPECT_TRUE(sound(*database_));
}

// A call reports a failed write of earlier rows before it has done anything.
TEST_F(BulkAppend, ACallThatHearsOfRowsBeforeItEntersNothing) {
  use("people");
  InBulk bulk(*database_);
  Rows rows;
  add(bulk, rows, 0, 1'000);
  make_log_space();
  const Encoded encoded(table(), 1'000, 7'000, kBody);
  disk_.inject({.error = ENOSPC,
                .kinds = static_cast<unsigned>(palimpsest::test::SimKind::write),
                .file = std::string(buffer::kPageFileName)});
  EXPECT_EQ(error_of([&] { return bulk.bulk->insert_many(table(), encoded.rows()); }),
            ErrorCode::no_space);
  disk_.clear_faults();
  make_log_space();
  bulk.commit();
  EXPECT_EQ(rows_of(nullptr), rows);
  EXPECT_TRUE(sound(*database_));
}

/// Changes of appended rows before a crash, by any slots.
class AfterAppending : public BulkAppend {
 protected:
  static constexpr int kRows = 3'000;

  void append(InBulk& bulk) {
    for (int id = 0; id < kRows; ++id) {
      ASSERT_TRUE(add(bulk, id));
    }
    bulk.bulk->append_kept();
  }
};

// Appended leaves do not record when they were attached; a later change must not seem older.
TEST_F(AfterAppending, ChangesByAnotherSlotComeAfterIt) {
  {
    InBulk bulk(*database_);
    append(bulk);
    const auto has_the_slot = begin(Isolation::none);
    for (int variant = 0; variant < 30; ++variant) {
      const std::string body(static_cast<std::size_t>(10 + variant % 7), 'x');
      ASSERT_TRUE(update(bulk, kRows - 10, variant, body));
    }
    bulk.commit();
    has_the_slot->commit();
  }
  open_after_crash(disk_.crash(1));
  EXPECT_EQ(row_of(nullptr, kRows - 10)->name, name_of(kRows - 10, 29));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(AfterAppending, ChangesBehindAnAsynchronousCommitComeAfterIt) {
  {
    InBulk bulk(*database_, Isolation::snapshot, txn::Durability::asynchronous);
    append(bulk);
    bulk.bulk->publish();
    const std::array has_slots{begin(Isolation::none), begin(Isolation::none)};
    bulk.in->commit();
    const auto writer = database_->begin(txn::Durability::synchronous, Isolation::none);
    ASSERT_TRUE(update(*writer, kRows / 2, 7));
    writer->commit();
  }
  open_after_crash(disk_.crash(1));
  EXPECT_EQ(row_of(nullptr, kRows / 2)->name, name_of(kRows / 2, 7));
  EXPECT_TRUE(sound(*database_));
}

// Another writer is in the middle of an append, which limits the horizon that a round may state.
TEST_F(AfterAppending, ASynchronousCommitIsDurable) {
  std::optional<palimpsest::test::SimDisk> crashed;
  {
    const auto in_append = begin(Isolation::none);
    InBulk bulk(*database_);
    append(bulk);
    bulk.bulk->publish();
    use("people");
    for (int id = 0; id < 10; ++id) {
      ASSERT_TRUE(insert(*in_append, id, 0));
    }
    const SyncHook published("wal.append.published", [&] {
      if (!crashed) {
        crashed.emplace(disk_);  // so that this runs only once
        bulk.in->commit();
        crashed = disk_.crash(1);
      }
    });
    ASSERT_TRUE(insert(*in_append, 11, 0));
    ASSERT_TRUE(crashed);
    in_append->commit();
    use("plain");
  }
  open_after_crash(*crashed);
  EXPECT_EQ(rows_of(nullptr).size(), static_cast<std::size_t>(kRows));
  EXPECT_TRUE(sound(*database_));
}

TEST_F(BulkAppend, ACrashLeavesAllOfItOrNothing) {
  for (const bool has_rows : {false, true}) {
    SCOPED_TRACE(has_rows ? "behind rows" : "into an empty table");
    open_after_crash(palimpsest::test::SimDisk());
    make_plain();
    if (has_rows) {
      const auto by = database_->begin(txn::Durability::synchronous, Isolation::read_committed);
      ASSERT_TRUE(insert(*by, -1, 0));
      by->commit();
    }
    const Rows old = rows_of(nullptr);
    Rows changed = old;
    palimpsest::test::CrashImages crashes(disk_);
    {
      const SyncHook hung("btree.graft.hung", [&] { crashes.take(); });
      InBulk bulk(*database_);
      crashes.take_at_operations();
      for (int end = 800; end <= 3'200; end += 800) {
        add(bulk, changed, end - 800, end);
        bulk.bulk->append_kept();
        if (end == 1'600) {
          database_->checkpointer().run();
        }
      }
      bulk.commit();
      EXPECT_GT(hung.hits(), 3U);
    }
    crashes.set_committed();
    crashes.take();
    expect_all_or_nothing(crashes.end(), old, changed);
  }
}

#endif

}  // namespace
}  // namespace palimpsest::engine::test
